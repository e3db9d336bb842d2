//! The published suite: what the documentation of `Connection` promises, over a simulated network.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnel_checksum::Checksum;
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_sim::{Sim, SimDatapath};
use bertha_negotiation::Negotiate;
use bertha_tests::conformance::{self, Bufs};

const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Both ends of a connection with this Chunnel.
async fn connected(
    client: &SimDatapath,
    server: &SimDatapath,
) -> (impl Connection<Data = Buf>, impl Connection<Data = Buf>) {
    let stack = make_stack!(Checksum::seeded(7));
    let mut incoming = stack.listen(server.clone(), (SERVER, 0)).await.unwrap();
    let to = incoming.local_addr();
    let (connection, accepted) =
        futures_util::join!(stack.connect(client.clone(), to).into_future(), incoming.next());
    let accepted = accepted.unwrap().unwrap();
    // The address stays in use, as a server's does.
    std::mem::forget(incoming);
    (connection.unwrap(), accepted)
}

#[test]
fn a_connection_with_checksums_keeps_every_promise() {
    for seed in 0..3 {
        let mut sim = Sim::new(seed);
        let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host(SERVER));
        sim.run(conformance::connection(async || connected(&client, &server).await, &Bufs));
    }
}
