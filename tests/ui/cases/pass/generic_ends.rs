//! A generic client and server need one bound, and it can be met.

use bertha_chunnels::Serialize;
use bertha_core::{Addr, Connection, Error, make_stack};
use bertha_datapath_sim::Sim;
use bertha_negotiation::{Negotiate, Runs};

async fn client<S, D>(stack: S, datapath: D, server: Addr) -> Result<String, Error>
where
    S: Negotiate,
    D: Runs<S, Out: Connection<Data = String>>,
{
    let connection = stack.connect(datapath, server).await?;
    connection.send("hello".into()).await?;
    connection.recv().await
}

async fn server<S, D>(stack: S, datapath: D, at: Addr) -> Result<(), Error>
where
    S: Negotiate + 'static,
    D: Runs<S, Out: Connection<Data = String>>,
{
    let mut incoming = stack.listen(datapath, at).await?;
    while let Some(connection) = incoming.next().await {
        while let Ok(message) = connection.recv().await {
            connection.send(message).await?;
        }
    }
    Ok(())
}

fn main() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    let stack = || make_stack!(Serialize::<String>::new());
    let at = Addr::from(([10, 0, 0, 2], 4242));
    let answer = sim.run(async {
        let serving = std::pin::pin!(server(stack(), network.host([10, 0, 0, 2]), at.clone()));
        let asking = std::pin::pin!(client(stack(), network.host([10, 0, 0, 1]), at.clone()));
        match futures_util::future::select(asking, serving).await {
            futures_util::future::Either::Left((answer, _)) => answer,
            futures_util::future::Either::Right((ended, _)) => panic!("the server ended: {ended:?}"),
        }
    });
    assert_eq!(answer.unwrap(), "hello");
}
