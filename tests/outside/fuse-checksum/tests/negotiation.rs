//! Ends with and without the pass, over a simulated network.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnels::{Bincode, Checksum, Postcard, Serialize};
use bertha_conformance::{self as conformance, Messages};
use bertha_core::{Base, Connection, Describe, ErrorKind, Runtime, make_stack, optimize, select};
use bertha_datapath_sim::{Sim, SimDatapath};
use bertha_negotiation::{Negotiate, Negotiated, Runs};
use bertha_pass_fuse_checksum::FuseChecksum;

const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Makes a stack of two layers.
macro_rules! separate {
    ($codec:ty) => {
        make_stack!(Serialize::<Vec<u8>, $codec>::new(), Checksum::new())
    };
}

/// Both layers as one layer.
macro_rules! fused {
    ($codec:ty) => {
        optimize!(separate!($codec), FuseChecksum)
    };
}

type Out<S> = Negotiated<<SimDatapath as Runs<S>>::Out>;

/// Returns both ends of a connection between these stacks.
async fn connected<C, S>(client: (C, &SimDatapath), server: (S, &SimDatapath)) -> (Out<C>, Out<S>)
where
    C: Negotiate,
    S: Negotiate + 'static,
    SimDatapath: Runs<C> + Runs<S>,
{
    let mut incoming = server.0.listen(server.1.clone(), (SERVER, 0)).await.unwrap();
    let to = incoming.local_addr();
    let (connection, accepted) =
        futures_util::join!(client.0.connect(client.1.clone(), to).into_future(), incoming.next_or_refusal());
    // The address stays in use, as the address of a server does.
    std::mem::forget(incoming);
    (connection.unwrap(), accepted.unwrap().unwrap())
}

/// Messages of a few bytes.
struct Bytes;

impl Messages<Vec<u8>> for Bytes {
    fn make<C: Connection<Data = Vec<u8>>>(&self, _: &C, number: u64) -> Vec<u8> {
        let mut message = number.to_be_bytes().to_vec();
        message.resize(8 + (number % 50) as usize, number as u8);
        message
    }

    fn number(&self, message: &Vec<u8>) -> u64 {
        let number = u64::from_be_bytes(*message.first_chunk().unwrap());
        assert_eq!(message[8..], vec![number as u8; (number % 50) as usize]);
        number
    }

    fn oversize<C: Connection<Data = Vec<u8>>>(&self, connection: &C) -> Option<Vec<u8>> {
        Some(vec![0; connection.base().mtu()])
    }
}

/// Makes a test of the published suite between two ends, either of which may have the pass.
macro_rules! conforms {
    ($client:expr, $server:expr) => {
        for seed in 0..3 {
            let mut sim = Sim::new(seed);
            let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host(SERVER));
            let connect = async || connected(($client, &client), ($server, &server)).await;
            sim.run(conformance::connection(connect, &Bytes));
        }
    };
}

#[test]
fn a_client_with_the_pass_talks_to_a_server_without() {
    conforms!(fused!(Postcard), separate!(Postcard));
}

#[test]
fn a_client_without_the_pass_talks_to_a_server_with() {
    conforms!(separate!(Postcard), fused!(Postcard));
}

#[test]
fn both_ends_may_have_the_pass() {
    conforms!(fused!(Postcard), fused!(Postcard));
}

#[test]
fn each_end_says_what_it_runs() {
    let mut sim = Sim::new(1);
    let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host(SERVER));
    let (here, there) = sim.run(connected((fused!(Postcard), &client), (separate!(Postcard), &server)));
    assert_eq!(
        here.explain().to_string(),
        "SerializeChecked(Serialize[postcard] / Checksum), agreed as client"
    );
    assert_eq!(there.explain().to_string(), "Serialize[postcard] / Checksum, agreed as server");
}

#[test]
fn the_pass_changes_nothing_about_who_is_refused() {
    let mut sim = Sim::new(1);
    let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host(SERVER));
    let runtime = sim.runtime();
    let refusals = sim.run(async {
        let mut incoming = separate!(Postcard).listen(server, (SERVER, 0)).await.unwrap();
        let to = incoming.local_addr();
        let _listening = runtime.spawn(async move { while incoming.next().await.is_some() {} });
        let without = separate!(Bincode).connect(client.clone(), to.clone()).await.map(drop).unwrap_err();
        let with = fused!(Bincode).connect(client, to).await.map(drop).unwrap_err();
        [without, with]
    });
    assert_eq!(refusals[0].kind(), ErrorKind::Refused);
    assert_eq!(refusals[0].to_string(), refusals[1].to_string());
    assert!(refusals[0].to_string().contains("postcard"), "{}", refusals[0]);
}

#[test]
fn the_pass_finds_its_two_layers_in_alternatives_and_nowhere_else() {
    let serialize = || Serialize::<Vec<u8>, Postcard>::new();
    let stack = make_stack!(select!(make_stack!(serialize(), Checksum::new()), serialize()), Checksum::new());
    let stack = optimize!(stack, FuseChecksum);
    assert_eq!(
        stack.explain().to_string(),
        "(SerializeChecked(Serialize[postcard] / Checksum) | Serialize[postcard]) / Checksum\n  \
         FuseChecksum: Serialize[postcard] / Checksum became SerializeChecked(Serialize[postcard] / Checksum)"
    );
    let swapped = optimize!(make_stack!(Checksum::new(), Checksum::new()), FuseChecksum);
    assert_eq!(swapped.reports()[0].reason(), Some("there is no Serialize in the stack"));
}
