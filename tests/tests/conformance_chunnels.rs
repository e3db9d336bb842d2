//! The conformance suite over negotiated stacks: the link, and every Chunnel that we ship.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnels::{
    AtMostOnce, Batch, ClientShard, Compress, Fault, Fragment, Keyed, Metrics, Nothing, Ordered,
    OrderedByKey, Pace, Postcard, Reliable, Serialize, ServerShard, ShardMap,
};
use bertha_core::{Addr, Base, Boxed, Connection, Describe, Runtime, make_stack, select};
use bertha_datapath_sim::{Network, Sim, SimDatapath};
use bertha_negotiation::{Negotiate, Negotiated, Runs};
use bertha_tests::conformance::{self, Bufs, Messages};
use serde::{Deserialize, Serialize as Encode};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// A message with a type.
#[derive(Debug, PartialEq, Encode, Deserialize)]
struct Numbered {
    number: u64,
    padding: Vec<u8>,
}

impl Keyed for Numbered {
    fn key(&self) -> &[u8] {
        &self.padding
    }
}

struct Numbers;

impl Messages<Numbered> for Numbers {
    fn make<C: Connection<Data = Numbered>>(&self, _: &C, number: u64) -> Numbered {
        Numbered { number, padding: vec![number as u8; (number % 50) as usize] }
    }

    fn number(&self, message: &Numbered) -> u64 {
        assert_eq!(message.padding, vec![message.number as u8; (message.number % 50) as usize]);
        message.number
    }

    fn oversize<C: Connection<Data = Numbered>>(&self, connection: &C) -> Option<Numbered> {
        Some(Numbered { number: 0, padding: vec![0; connection.mtu()] })
    }
}

/// Where the ends meet: datagrams or streams, with or without another order of tasks.
fn everywhere(check: impl AsyncFn(&Network, &SimDatapath, &SimDatapath)) {
    for seed in 0..5 {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        let (client, server) = (network.host(CLIENT), network.host(SERVER));
        sim.run(check(&network, &client, &server));
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        let (client, server) = (network.host(CLIENT).streams(), network.host(SERVER).streams());
        sim.run(check(&network, &client, &server));
    }
}

type Out<S> = Negotiated<<SimDatapath as Runs<S>>::Out>;

/// Both ends of a negotiated connection with this stack.
async fn connected<S>(stack: S, client: &SimDatapath, server: &SimDatapath) -> (Out<S>, Out<S>)
where
    S: Describe + Clone + Send + Sync + 'static,
    SimDatapath: Runs<S>,
{
    let mut incoming = stack.clone().listen(server.clone(), (SERVER, 0)).await.unwrap();
    let to = incoming.local_addr();
    let (connection, accepted) =
        futures_util::join!(stack.connect(client.clone(), to).into_future(), async { incoming.next().await });
    // The address stays in use, as a server's does.
    std::mem::forget(incoming);
    (connection.unwrap(), accepted.unwrap().unwrap())
}

#[test]
fn the_link() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(Nothing);
        conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
        let (here, there) = connected(stack, client, server).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
        let (here, there) = connected(stack, client, server).await;
        conformance::the_peer_hears_of_a_close(&there, &here, &Bufs).await;
    });
}

#[test]
fn a_choice_and_an_erased_layer() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(select!(make_stack!(Nothing, Boxed), Nothing; prefer 1), Boxed);
        conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
    });
}

#[test]
fn serialised_messages() {
    everywhere(async |_, client, server| {
        let bincode = make_stack!(Serialize::<Numbered>::new());
        conformance::connection(async || connected(bincode.clone(), client, server).await, &Numbers).await;
        let postcard = make_stack!(Serialize::<Numbered, Postcard>::new());
        conformance::connection(async || connected(postcard.clone(), client, server).await, &Numbers).await;
    });
}

#[test]
fn reliable_messages() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(Reliable::new());
        let connect = async || connected(stack.clone(), client, server).await;
        conformance::connection(connect, &Bufs).await;
        let (here, there) = connect().await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
        let (here, there) = connect().await;
        conformance::the_peer_hears_of_a_close(&there, &here, &Bufs).await;
    });
}

#[test]
fn messages_at_most_once() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(AtMostOnce);
        conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
    });
}

#[test]
fn messages_that_travel_together() {
    everywhere(async |_, client, server| {
        for stack in [Batch::new(), Batch::new().bytes(200).wait(Duration::ZERO)] {
            conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
        }
        let stack = make_stack!(Batch::new(), Ordered::new(), Reliable::new());
        let (here, there) = connected(stack.clone(), client, server).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    });
}

#[test]
fn reliable_messages_over_a_bad_network() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(Fault::new(1));
        conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
        let fault = Fault::new(1).loss(0.1).duplication(0.1).reordering(0.1, Duration::from_millis(1));
        let stack = make_stack!(Ordered::new(), Reliable::new(), fault);
        let (here, there) = connected(stack.clone(), client, server).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    });
}

#[test]
fn ordered_messages() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(Ordered::new().skip_after(64));
        conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
        let stack = make_stack!(Ordered::new(), Reliable::new());
        conformance::connection(async || connected(stack.clone(), client, server).await, &Bufs).await;
        // One key, so that the checks may expect one order.
        let stack = make_stack!(OrderedByKey::new(|_| &[]), Reliable::new());
        conformance::connection(async || connected(stack.clone(), client, server).await, &Bufs).await;
    });
}

#[test]
fn messages_in_pieces() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(Fragment::new().limit(100_000));
        conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
        let stack = make_stack!(Fragment::new().limit(100_000).discover_path());
        conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
        let stack = make_stack!(Ordered::new(), Fragment::new().limit(100_000).piece(64), Reliable::new());
        conformance::connection(async || connected(stack.clone(), client, server).await, &Bufs).await;
    });
}

#[test]
fn compressed_messages() {
    everywhere(async |_, client, server| {
        for stack in [Compress::new(), Compress::new().at_least(0)] {
            conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
        }
        let stack = make_stack!(select!(Compress::new(), Nothing), Reliable::new());
        let (here, there) = connected(stack.clone(), client, server).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    });
}

#[test]
fn counted_and_paced_messages() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(Metrics::new("typed"), Serialize::<Numbered>::new(), Metrics::new("bytes"));
        conformance::connection(async || connected(stack.clone(), client, server).await, &Numbers).await;
        // Fast enough for the checks that measure patience, and still in the way.
        let stack = make_stack!(Pace::new(10_000_000).burst(1));
        conformance::connection(async || connected(stack, client, server).await, &Bufs).await;
    });
}

/// A client that reaches its one shard by itself, and the shard's end.
#[test]
fn a_client_that_routes() {
    everywhere(async |_, client, server| {
        let connect = async || {
            let shards = make_stack!(Serialize::<Numbered>::new());
            let mut shard = shards.listen(server.clone(), (SERVER, 0)).await.unwrap();
            let map = ShardMap::new([shard.local_addr()]).unwrap();
            let stack = make_stack!(ClientShard::new(map), Serialize::<Numbered>::new());
            let (ends, accepted) = futures_util::join!(connected(stack, client, server), shard.next());
            std::mem::forget((shard, ends.1));
            (ends.0, accepted.unwrap().unwrap())
        };
        conformance::connection(connect, &Numbers).await;
    });
}

/// A client whose server routes for it, and the end of the one shard. A close of one end reaches the other through two
/// connections.
#[test]
fn a_server_that_routes() {
    everywhere(async |network, client, server| {
        let connect = async || {
            let shards = make_stack!(Serialize::<Numbered>::new());
            let mut shard = shards.listen(server.clone(), (SERVER, 0)).await.unwrap();
            let map = ShardMap::new([shard.local_addr()]).unwrap();
            let stack = make_stack!(ServerShard::new(map), Serialize::<Numbered>::new());
            let (ends, accepted) = futures_util::join!(connected(stack, client, server), shard.next());
            let router = network.runtime().spawn(async move {
                assert!(ends.1.recv().await.is_err(), "the router's application got a request");
            });
            std::mem::forget((shard, router));
            (ends.0, accepted.unwrap().unwrap())
        };
        conformance::connection(connect, &Numbers).await;
    });
}

#[test]
fn addresses_are_those_of_the_datapath() {
    everywhere(async |_, client, server| {
        let (here, there) = connected(make_stack!(Nothing), client, server).await;
        let addrs: [Addr; 2] = [here.base().local_addr(), there.base().local_addr()];
        assert_eq!(addrs, [there.base().peer_addr(), here.base().peer_addr()]);
    });
}
