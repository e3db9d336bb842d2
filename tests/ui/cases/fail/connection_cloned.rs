//! A connection that is cloned for a second task, in place of shared.

use bertha::chunnels::Serialize;
use bertha::prelude::*;

async fn both() -> Result<(), bertha::Error> {
    let connection = make_stack!(Serialize::<String>::new()).connect(bertha::datapath(), "[::1]:1").await?;
    let second = connection.clone();
    drop(second);
    Ok(())
}

fn main() {
    drop(both());
}
