//! Nothing turns messages into bytes: at the bottom the datapath carries `Buf`s.

use bertha_chunnels::Nothing;
use bertha_core::{Addr, Connection, Error, make_stack};
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::{Negotiate, Runs};

async fn ask<S, D>(stack: S, datapath: D, server: Addr) -> Result<(), Error>
where
    S: Negotiate,
    D: Runs<S, Out: Connection<Data = String>>,
{
    stack.connect(datapath, server).await?.send("hello".into()).await
}

async fn client(datapath: SimDatapath, server: Addr) -> Result<(), Error> {
    ask(make_stack!(Nothing), datapath, server).await
}

fn main() {}
