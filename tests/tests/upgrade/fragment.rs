//! `Fragment` where a stack is chosen at run time: boxed, as an alternative to nothing, and put in while messages flow.

use bertha_chunnels::{Fragment, Nothing, Ordered, Reliable};
use bertha_core::{Base, Buf, Connection, ErrorKind, make_stack, select};
use bertha_datapath_sim::{Sim, SimDatapath};
use bertha_negotiation::{Negotiate, Pick};
use futures_util::join;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Number of bytes of a message that does not fit into a datagram.
const LONG: usize = 100_000;

fn between_hosts(check: impl AsyncFn(SimDatapath, SimDatapath)) {
    for seed in 0..5 {
        let mut sim = Sim::new(seed);
        let (client, server) = (sim.network().host(CLIENT), sim.network().host(SERVER));
        sim.run(check(client, server));
    }
}

/// Makes both ends of a connection over the simulated network.
macro_rules! connect {
    ($client:expr => $from:expr, $server:expr => $at:expr) => {{
        let mut incoming = $server.listen($at, (SERVER, 0)).await.unwrap();
        let to = incoming.local_addr();
        let stack = $client;
        let (here, there) = join!(stack.connect($from, to).into_future(), incoming.next_or_refusal());
        std::mem::forget(incoming);
        (here.unwrap(), there.unwrap().unwrap())
    }};
}

fn long(connection: &impl Connection<Data = Buf>) -> Buf {
    let mut message = connection.base().buffer(LONG).unwrap();
    message.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 251) as u8);
    message
}

async fn carries_long_messages(here: &impl Connection<Data = Buf>, there: &impl Connection<Data = Buf>) {
    assert!(here.mtu() > LONG, "{}", here.mtu());
    let (sent, received) = join!(here.send(long(here)), there.recv());
    sent.unwrap();
    assert_eq!(*received.unwrap(), *long(there));
}

async fn refuses_long_messages(here: &impl Connection<Data = Buf>) {
    assert!(here.mtu() < LONG, "{}", here.mtu());
    let error = here.send(long(here)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
}

#[test]
fn it_is_boxed() {
    between_hosts(async |client, server| {
        let stack = || make_stack!(Ordered::new(), Fragment::new(), Reliable::new());
        let (from, at) = (stack().boxed(&client), stack().boxed(&server));
        let (here, there) = connect!(from => client, at => server);
        carries_long_messages(&here, &there).await;
    });
}

#[test]
fn it_is_an_alternative_to_nothing() {
    between_hosts(async |client, server| {
        let either = || make_stack!(select!(Fragment::new(), Nothing), Reliable::new());
        let without = || make_stack!(Nothing, Reliable::new());
        let (here, there) = connect!(either() => client.clone(), either() => server.clone());
        carries_long_messages(&here, &there).await;
        let (here, _there) = connect!(either() => client, without() => server);
        refuses_long_messages(&here).await;
    });
}

#[test]
fn it_is_put_in_while_messages_flow() {
    between_hosts(async |client, server| {
        let stack = || make_stack!(select!(Nothing, Fragment::new()), Reliable::new()).upgradable();
        let (here, there) = connect!(stack() => client, stack() => server);
        refuses_long_messages(&here).await;
        let changed = async {
            here.upgrade(Pick::alternative(1)).await.unwrap();
            here.send(long(&here)).await.unwrap();
        };
        let ((), received) = join!(changed, there.recv());
        assert_eq!(*received.unwrap(), *long(&there));
        carries_long_messages(&there, &here).await;
    });
}
