//! The conformance suite of Chunnels over negotiated stacks: the link, and every Chunnel of this workspace.

use bertha_chunnels::{
    AtMostOnce, Batch, Bincode, Checksum, ClientShard, Compress, Fault, Fragment, Keyed, Metrics, Nagle,
    Nothing, Ordered, OrderedByKey, Pace, Reliable, Rpc, Serialize, ServerShard, ShardMap,
};
use bertha_conformance::{self as conformance, Bufs, Messages, Recorder};
use bertha_core::{Addr, Base, Boxed, Connection, Describe, Runtime, make_stack, select};
use bertha_datapath_sim::{Link, Network, Sim, SimDatapath};
use bertha_managed::Policies;
use bertha_managed::engines::RateLimit;
use bertha_negotiation::{Negotiate, Negotiated, Runs, Settings};
use bertha_tests::conformance::Responses;
use prost::Message;
use prost_types::{
    DescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, ServiceDescriptorProto,
};
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

/// Runs `check` over datagrams and over streams, with and without another order of tasks.
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

/// Returns both ends of a negotiated connection with this stack.
async fn connected<S>(stack: S, client: &SimDatapath, server: &SimDatapath) -> (Out<S>, Out<S>)
where
    S: Describe + Clone + Send + Sync + 'static,
    SimDatapath: Runs<S>,
{
    both(stack.clone(), stack, client, server).await
}

/// Returns both ends of a connection, the client with the stack `here` and the server with the stack `there`.
async fn both<S>(here: S, there: S, client: &SimDatapath, server: &SimDatapath) -> (Out<S>, Out<S>)
where
    S: Describe + Clone + Send + Sync + 'static,
    SimDatapath: Runs<S>,
{
    let mut incoming = there.listen(server.clone(), (SERVER, 0)).await.unwrap();
    // Shorter than the checks wait: the only message of a dropped end may be lost.
    let settings = Settings::default().idle_timeout(Duration::from_secs(10));
    let connecting = here.connect(client.clone(), incoming.local_addr()).settings(settings);
    let (connection, accepted) = futures_util::join!(connecting.into_future(), incoming.next_or_refusal());
    // The address stays in use, as the address of a server does.
    std::mem::forget(incoming);
    (connection.unwrap(), accepted.unwrap().unwrap())
}

/// Runs the suite of Chunnels on a stack of these layers, at either end above a layer that records the calls
/// that reach it.
macro_rules! passes {
    ($client:ident, $server:ident, $messages:expr; $($layer:expr),+) => {
        conformance::chunnel(
            async |[below_client, below_server]| {
                let here = make_stack!($($layer,)+ below_client);
                let there = make_stack!($($layer,)+ below_server);
                both(here, there, $client, $server).await
            },
            $messages,
        )
        .await
    };
}

#[test]
fn the_link() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(Nothing);
        passes!(client, server, &Bufs; Nothing);
        conformance::ends(async || connected(stack, client, server).await, &Bufs).await;
    });
}

#[test]
fn a_choice_and_an_erased_layer() {
    everywhere(async |_, client, server| {
        passes!(client, server, &Bufs; select!(make_stack!(Nothing, Boxed), Nothing; prefer 1), Boxed);
    });
}

#[test]
fn serialised_messages() {
    everywhere(async |_, client, server| {
        passes!(client, server, &Numbers; Serialize::<Numbered>::new());
        passes!(client, server, &Numbers; Serialize::<Numbered, Bincode>::new());
    });
}

#[test]
fn reliable_messages() {
    everywhere(async |_, client, server| {
        let stack = make_stack!(Reliable::new());
        let connect = async || connected(stack.clone(), client, server).await;
        passes!(client, server, &Bufs; Reliable::new());
        let (here, there) = connect().await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
        let (here, there) = connect().await;
        conformance::the_peer_hears_of_a_close(&there, &here, &Bufs).await;
    });
}

/// The messages arrive whatever the network loses.
#[test]
fn reliable_messages_before_a_cut_and_before_a_close() {
    everywhere(async |network, client, server| {
        let ordered = make_stack!(Ordered::new(), Reliable::new());
        conformance::ends(async || connected(ordered.clone(), client, server).await, &Bufs).await;
        network.set_link(Link::poor(0.05));
        conformance::ends(async || connected(ordered.clone(), client, server).await, &Bufs).await;
        let pieces = make_stack!(Ordered::new(), Fragment::new().piece(64), Reliable::new());
        conformance::ends(async || connected(pieces.clone(), client, server).await, &Bufs).await;
    });
}

#[test]
fn messages_at_most_once() {
    everywhere(async |_, client, server| {
        passes!(client, server, &Bufs; AtMostOnce);
    });
}

#[test]
fn messages_that_travel_together() {
    everywhere(async |_, client, server| {
        for batch in [Batch::new(), Batch::new().bytes(200).wait(Duration::ZERO)] {
            passes!(client, server, &Bufs; batch);
        }
        let stack = make_stack!(Batch::new(), Ordered::new(), Reliable::new());
        let (here, there) = connected(stack.clone(), client, server).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    });
}

/// Messages of which none is too large, since `Nagle` takes a message before the layer that judges its size.
struct Fitting<M>(M);

impl<T, M: Messages<T>> Messages<T> for Fitting<M> {
    fn make<C: Connection<Data = T>>(&self, connection: &C, number: u64) -> T {
        self.0.make(connection, number)
    }

    fn number(&self, message: &T) -> u64 {
        self.0.number(message)
    }

    fn oversize<C: Connection<Data = T>>(&self, _: &C) -> Option<T> {
        None
    }
}

#[test]
fn messages_that_are_handed_down_in_bursts() {
    everywhere(async |_, client, server| {
        for nagle in
            [Nagle::new().wait(Duration::from_millis(1)), Nagle::new().messages(3).wait(Duration::ZERO)]
        {
            passes!(client, server, &Fitting(Bufs); nagle);
            passes!(client, server, &Fitting(Numbers); nagle, Serialize::<Numbered>::new());
        }
    });
}

#[test]
fn reliable_messages_over_a_bad_network() {
    everywhere(async |_, client, server| {
        passes!(client, server, &Bufs; Fault::new(1));
        let fault = Fault::new(1).loss(0.1).duplication(0.1).reordering(0.1, Duration::from_millis(1));
        let stack = make_stack!(Ordered::new(), Reliable::new(), fault);
        let (here, there) = connected(stack.clone(), client, server).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    });
}

#[test]
fn ordered_messages() {
    everywhere(async |_, client, server| {
        // The window is larger than the number of messages that several senders have under way: a server's
        // first message may wait for the proof of an address while later messages overtake it.
        passes!(client, server, &Bufs; Ordered::new().skip_after(128));
        passes!(client, server, &Bufs; Ordered::new(), Reliable::new());
        // All messages have one key, so the checks may expect one order.
        passes!(client, server, &Bufs; OrderedByKey::new(|_| &[]), Reliable::new());
    });
}

#[test]
fn messages_in_pieces() {
    everywhere(async |_, client, server| {
        passes!(client, server, &Bufs; Fragment::new().limit(100_000));
        passes!(client, server, &Bufs; Fragment::new().limit(100_000).discover_path());
        passes!(client, server, &Bufs; Ordered::new(), Fragment::new().limit(100_000).piece(64), Reliable::new());
    });
}

#[test]
fn checked_messages() {
    everywhere(async |_, client, server| {
        passes!(client, server, &Bufs; Checksum::new());
    });
}

#[test]
fn compressed_messages() {
    everywhere(async |_, client, server| {
        for compress in [Compress::new(), Compress::new().at_least(0)] {
            passes!(client, server, &Bufs; compress);
        }
        let stack = make_stack!(select!(Compress::new(), Nothing), Reliable::new());
        let (here, there) = connected(stack.clone(), client, server).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    });
}

#[test]
fn counted_and_paced_messages() {
    everywhere(async |_, client, server| {
        passes!(client, server, &Numbers; Metrics::new("typed"), Serialize::<Numbered>::new(), Metrics::new("bytes"));
        // The rate is high enough for checks with time-outs, and low enough to delay messages.
        passes!(client, server, &Bufs; Pace::new(10_000_000).burst(1));
    });
}

#[test]
fn messages_of_calls() {
    everywhere(async |_, client, server| {
        let stack = |below| make_stack!(Rpc::new(), below, Reliable::new());
        conformance::chunnel(
            async |[here, there]| both(stack(here), stack(there), client, server).await,
            &Responses,
        )
        .await;
        let (here, there) =
            connected(make_stack!(Rpc::new(), Ordered::new(), Reliable::new()), client, server).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Responses).await;
    });
}

#[test]
fn policies_of_calls() {
    everywhere(async |_, client, server| {
        let policies = policies();
        let stack = |below| make_stack!(policies.clone(), below, Rpc::new(), Reliable::new());
        conformance::chunnel(
            async |[here, there]| both(stack(here), stack(there), client, server).await,
            &Responses,
        )
        .await;
    });
}

/// Returns policies for a service with an empty message, and a limit that holds nothing.
fn policies() -> Policies {
    let method = MethodDescriptorProto {
        name: Some("Method".into()),
        input_type: Some(".Empty".into()),
        output_type: Some(".Empty".into()),
        ..Default::default()
    };
    let file = FileDescriptorProto {
        name: Some("service.proto".into()),
        syntax: Some("proto3".into()),
        message_type: vec![DescriptorProto { name: Some("Empty".into()), ..Default::default() }],
        service: vec![ServiceDescriptorProto {
            name: Some("Service".into()),
            method: vec![method],
            ..Default::default()
        }],
        ..Default::default()
    };
    let descriptors = FileDescriptorSet { file: vec![file] }.encode_to_vec();
    Policies::new(&descriptors, "Service").unwrap().engine("limit", RateLimit, "").unwrap()
}

/// Checks a client that reaches its one shard by itself, and the shard's end.
#[test]
fn a_client_that_routes() {
    everywhere(async |_, client, server| {
        let connect = async |[below_client, below_shard]: [Recorder; 2]| {
            let shards = make_stack!(Serialize::<Numbered>::new(), below_shard);
            let mut shard = shards.listen(server.clone(), (SERVER, 0)).await.unwrap();
            let map = ShardMap::new([shard.local_addr()]).unwrap();
            let stack = make_stack!(ClientShard::new(map), Serialize::<Numbered>::new(), below_client);
            let (ends, accepted) = futures_util::join!(connected(stack, client, server), shard.next());
            std::mem::forget((shard, ends.1));
            (ends.0, accepted.unwrap())
        };
        conformance::chunnel(connect, &Numbers).await;
    });
}

/// Checks a client whose server routes for it, and the end of the one shard. A close of one end reaches the
/// other end through two connections.
#[test]
fn a_server_that_routes() {
    everywhere(async |network, client, server| {
        let connect = async |[below_client, below_shard]: [Recorder; 2]| {
            let shards = make_stack!(Serialize::<Numbered>::new(), below_shard);
            let mut shard = shards.listen(server.clone(), (SERVER, 0)).await.unwrap();
            let map = ShardMap::new([shard.local_addr()]).unwrap();
            let stack =
                |below| make_stack!(ServerShard::new(map.clone()), Serialize::<Numbered>::new(), below);
            let (here, there) = (stack(below_client), stack(Recorder::new()));
            let (ends, accepted) = futures_util::join!(both(here, there, client, server), shard.next());
            let router = network.runtime().spawn(async move {
                assert!(ends.1.recv().await.is_err(), "the router's application got a request");
            });
            std::mem::forget((shard, router));
            (ends.0, accepted.unwrap())
        };
        conformance::chunnel(connect, &Numbers).await;
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
