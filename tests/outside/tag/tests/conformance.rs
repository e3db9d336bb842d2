//! The published suite for Chunnels, over a simulated network.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnel_tag::Tag;
use bertha_conformance::{self as conformance, Bufs, Recorder};
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_sim::{Sim, SimDatapath};
use bertha_negotiation::Negotiate;

const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Returns both ends of a connection with this Chunnel, directly above the suite's layers.
async fn connected(
    client: &SimDatapath,
    server: &SimDatapath,
    [below_client, below_server]: [Recorder; 2],
) -> (impl Connection<Data = Buf>, impl Connection<Data = Buf>) {
    let listening = make_stack!(Tag::new(7), below_server);
    let mut incoming = listening.listen(server.clone(), (SERVER, 0)).await.unwrap();
    let to = incoming.local_addr();
    let stack = make_stack!(Tag::new(7), below_client);
    let (connection, accepted) =
        futures_util::join!(stack.connect(client.clone(), to).into_future(), incoming.next_or_refusal());
    let accepted = accepted.unwrap().unwrap();
    // The address of a server stays in use.
    std::mem::forget(incoming);
    (connection.unwrap(), accepted)
}

#[test]
fn a_connection_with_tags_keeps_every_promise() {
    for seed in 0..3 {
        let mut sim = Sim::new(seed);
        let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host(SERVER));
        sim.run(conformance::chunnel(async |below| connected(&client, &server, below).await, &Bufs));
    }
}
