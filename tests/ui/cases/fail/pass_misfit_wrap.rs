//! A pass that leaves a stack whose data do not fit, at `wrap`.

use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Connection, Buf, Error, Wrap, make_stack, optimize, subst};

#[subst(if [*, Nothing, *] then [*, Serialize<u64>, *] with |_| Serialize::new())]
struct Numbers;

async fn wrapped(connection: impl Connection<Data = Buf>) -> Result<(), Error> {
    let stack = optimize!(make_stack!(Serialize::<String>::new(), Nothing), Numbers);
    stack.wrap(connection).await?;
    Ok(())
}

fn main() {}
