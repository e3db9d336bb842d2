//! A stack that did not fit before, and that no pass changed: the error is that of the stack.

use bertha_chunnels::Serialize;
use bertha_core::{Buf, Connection, Error, Identity, Wrap, make_stack, optimize, subst};

#[derive(Identity)]
struct A;

#[subst(if [*, A, *] then [*, *])]
struct NoA;

async fn wrapped(connection: impl Connection<Data = Buf>) -> Result<(), Error> {
    let stack = optimize!(make_stack!(Serialize::<String>::new(), Serialize::<u64>::new()), NoA);
    stack.wrap(connection).await?;
    Ok(())
}

fn main() {}
