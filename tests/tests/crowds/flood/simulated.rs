//! The flood over the simulated network, from thousands of addresses and from the client's own.

use crate::flood::meter::Meter;
use crate::flood::mutator::Mutator;
use crate::flood::scene::{Outcomes, echo_during, settings, stack};
use bertha_chunnels::serialize::Postcard;
use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Addr, Base, Connection, make_stack};
use bertha_datapath_sim::{Datagram, Network, Sim, SimRuntime, Verdict};
use bertha_negotiation::testing::wire::{self, Kind, Refusal};
use bertha_negotiation::{Negotiate, Negotiated};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SERVER: [u8; 4] = [10, 0, 0, 2];
const CLIENT: [u8; 4] = [10, 0, 0, 1];
const IDLE: Duration = Duration::from_secs(2);
/// Number of datagrams of a burst: as many as the listener takes while no task accepts.
const BURST: usize = 100;
const ROUNDS: usize = 24;
const BURSTS_PER_ROUND: usize = 400;

fn server_addr() -> SocketAddr {
    (SERVER, 4242).into()
}

/// Records all messages of two ends from offer to close, with every kind of answer.
async fn record(network: &Network) -> Vec<Vec<u8>> {
    let recorded = Arc::new(Mutex::new(Vec::new()));
    let record = recorded.clone();
    network.tap(move |datagram| {
        record.lock().unwrap().push(datagram.payload.clone());
        Verdict::Pass
    });
    let (from, to) = (network.host([10, 0, 0, 9]), Addr::Ip(server_addr()));
    for _ in 0..3 {
        let connection = stack().connect(from.clone(), to.clone()).await.unwrap();
        say(&connection, "recorded").await;
        connection.close().await.unwrap();
        let only = make_stack!(Nothing, Serialize::<String, Postcard>::new());
        let connection = only.connect(from.clone(), to.clone()).await.unwrap();
        say(&connection, "recorded").await;
        network.runtime().sleep(IDLE).await;
        drop(connection);
        assert!(make_stack!(Nothing).connect(from.clone(), to.clone()).await.is_err());
    }
    network.untap();
    std::mem::take(&mut *recorded.lock().unwrap())
}

async fn say(connection: &Negotiated<impl Connection<Data = String>>, text: &str) {
    connection.send(text.into()).await.unwrap();
    assert_eq!(connection.recv().await.unwrap(), text);
}

/// Counts of the server's replies, which show how far into the server the flood has come.
#[derive(Debug, Default, Clone)]
struct Replies(Arc<Mutex<BTreeMap<String, u64>>>);

impl Replies {
    fn count_in(&self, network: &Network) {
        let counts = self.0.clone();
        network.tap(move |datagram| {
            let reply = match (wire::header(&datagram.payload), wire::decode::<Refusal>(&datagram.payload)) {
                (Some((Kind::Refusal, _)), Ok(refusal)) => format!("Refusal {:?}", refusal.kind),
                (Some((kind, _)), _) => format!("{kind:?}"),
                (None, _) => "none".into(),
            };
            *counts.lock().unwrap().entry(reply).or_default() += 1;
            Verdict::Pass
        });
    }

    fn assert_deep(&self) {
        let counts = self.0.lock().unwrap();
        for reply in
            ["Answer", "Refusal Incompatible", "Refusal Malformed", "Refusal Version", "Reset", "CloseSeen"]
        {
            let count = counts.get(reply).copied().unwrap_or_default();
            assert!(count > 1000, "only {count} replies are {reply}: {counts:?}");
        }
    }
}

/// Sends a burst: most datagrams from strangers to the server, some with the addresses of client and server.
fn burst(network: &Network, mutator: &mut Mutator, client: SocketAddr) {
    for _ in 0..BURST {
        let payload = mutator.datagram();
        let dice = mutator.dice();
        let stranger = SocketAddr::from(([172, 16, dice.below(16) as u8, dice.next() as u8], 1000));
        let (from, to) = match dice.below(20) {
            0 => (client, server_addr()),
            1 => (server_addr(), client),
            2 => (stranger, client),
            _ => (stranger, server_addr()),
        };
        network.inject(&Datagram { from, to, payload }).unwrap();
    }
}

/// Floods, with an echo after every tenth burst. Then waits until the server has given strangers' connections
/// up.
async fn round(
    network: &Network,
    runtime: &SimRuntime,
    mutator: &mut Mutator,
    connection: &Negotiated<impl Connection<Data = String>>,
) {
    let Addr::Ip(client) = connection.base().local_addr() else { unreachable!() };
    for number in 0..BURSTS_PER_ROUND {
        burst(network, mutator, client);
        runtime.sleep(Duration::from_millis(1)).await;
        if number % 10 == 0 {
            say(connection, &format!("{number}")).await;
        }
    }
    runtime.sleep(IDLE * 2).await;
}

#[test]
fn memory_stays_and_clients_are_served() {
    let meter = Meter::alone();
    let mut sim = Sim::new(1).step_limit(u64::MAX);
    let network = sim.network().clone();
    let runtime = sim.runtime();
    sim.run(async {
        let listening = stack().listen(network.host(SERVER), server_addr()).settings(settings(IDLE));
        let (outcomes, replies) = (Outcomes::default(), Replies::default());
        let grown = echo_during(listening.await.unwrap(), &outcomes, async {
            let mut mutator = Mutator::new(record(&network).await, 1);
            let connection = stack().connect(network.host(CLIENT), server_addr()).await.unwrap();
            replies.count_in(&network);
            // No host has the strangers' addresses, so no kernel reports a closed port.
            network.answer_closed_ports(false);
            // Pools and tables reach their size in the first round.
            round(&network, &runtime, &mut mutator, &connection).await;
            assert_eq!(outcomes.open.get(), 1, "strangers are given up");
            let before = meter.live();
            for _ in 0..ROUNDS {
                round(&network, &runtime, &mut mutator, &connection).await;
            }
            assert_eq!(outcomes.open.get(), 1, "strangers are given up");
            say(&connection, "still here").await;
            meter.live() - before
        });
        let grown = grown.await;
        assert!(outcomes.accepted.get() > 1000 && outcomes.refused.get() > 10, "{outcomes:?}");
        replies.assert_deep();
        let injected = network.counters().injected;
        assert!(injected >= 1_000_000, "{injected} datagrams");
        // A leak of one byte per ten datagrams would exceed this bound.
        assert!(grown < 64 << 10, "{grown} bytes more after {injected} datagrams; {outcomes:?}");
    });
}
