//! A pass in a function that is generic over message and codec.

use bertha_chunnels::{Codec, Nothing, Serialize};
use bertha_core::{Buf, Connection, Error, Wrap, make_stack, optimize, subst};

#[subst(for<T, C> if [*, Serialize<T, C>, Nothing, *] then [*, Serialize<T, C>, *])]
struct NoNothing;

async fn wrapped<T, C>(connection: impl Connection<Data = Buf>) -> Result<impl Connection<Data = T>, Error>
where
    T: Send + 'static,
    C: Codec<T> + Default,
{
    optimize!(make_stack!(Serialize::<T, C>::new(), Nothing), NoNothing).wrap(connection).await
}

fn main() {
}
