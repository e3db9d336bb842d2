//! Connections in the simulator, whose records are collected.

use bertha_chunnels::Reliable;
use bertha_chunnels::reliable::{Qlog, ReliableConnection, ReliableStatistics};
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Wrap};
use bertha_datapath_sim::{Link, Network, Sim, SimConnection};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const CLIENT: [u8; 4] = [10, 0, 0, 1];
pub(crate) const SERVER: [u8; 4] = [10, 0, 0, 2];

/// The bytes of each message, which no record may have.
pub(crate) const SECRET: &[u8; 6] = b"secret";

/// The records of a log.
#[derive(Debug, Clone, Default)]
pub(crate) struct Records(Arc<Mutex<Vec<Value>>>);

impl Records {
    /// Returns the setting that collects here.
    pub(crate) fn qlog(&self) -> Qlog {
        let records = self.0.clone();
        Qlog::callback(move |_, record| {
            assert!(!record.contains(str::from_utf8(SECRET).unwrap()), "{record}");
            records.lock().unwrap().push(serde_json::from_str(record).expect(record));
        })
    }

    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the records of the events of this name.
    pub(crate) fn named(&self, name: &str) -> Vec<Value> {
        self.all().into_iter().filter(|record| record["name"] == name).collect()
    }
}

pub(crate) type End = ReliableConnection<SimConnection>;

/// Two ends of a simulated connection, and their records: the client's first.
pub(crate) struct Pair {
    pub(crate) network: Network,
    pub(crate) ends: [End; 2],
    pub(crate) records: [Records; 2],
}

/// Runs a test on a connection over links of this kind.
pub(crate) fn simulate<T>(
    seed: u64,
    link: Link,
    reliable: &Reliable,
    test: impl AsyncFnOnce(&Pair) -> T,
) -> T {
    let mut sim = Sim::new(seed).step_limit(u64::MAX);
    let network = sim.network().clone();
    network.set_link(link);
    let reliable = reliable.clone();
    sim.run(async move {
        let records = [Records::default(), Records::default()];
        let [here, there] = [0, 1].map(|end: usize| reliable.clone().qlog(records[end].qlog()));
        let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
        let client = network.host(CLIENT).connect(listener.local_addr()).await.unwrap();
        let client = here.wrap(client).await.unwrap();
        client.send(message(100)).await.unwrap();
        let server = there.wrap(listener.accept().await.unwrap()).await.unwrap();
        server.recv().await.unwrap();
        test(&Pair { network, ends: [client, server], records }).await
    })
}

/// Returns a message with a text that stays secret.
pub(crate) fn message(len: usize) -> Buf {
    let mut message = Buf::new(len, 0).unwrap();
    message.chunks_mut(SECRET.len()).for_each(|bytes| bytes.copy_from_slice(&SECRET[..bytes.len()]));
    message
}

impl Pair {
    /// Moves messages from the client to the server, and waits until all are acknowledged.
    pub(crate) async fn transfer(&self, count: usize, len: usize) {
        let [client, server] = &self.ends;
        let sending = async {
            for _ in 0..count {
                client.send(message(len)).await.unwrap();
            }
            client.drain().await.unwrap();
        };
        let receiving = async {
            for _ in 0..count {
                server.recv().await.unwrap();
            }
        };
        tokio::join!(sending, receiving);
    }

    pub(crate) async fn sleep(&self, time: Duration) {
        self.network.runtime().sleep(time).await;
    }

    pub(crate) fn statistics(&self, end: usize) -> ReliableStatistics {
        self.ends[end].statistics()
    }
}

/// Returns a link with faults of all kinds.
pub(crate) fn bad() -> Link {
    Link {
        loss: 0.05,
        duplication: 0.02,
        reordering: 0.05,
        corruption: 0.02,
        delay: Duration::from_millis(10),
        detour: Duration::from_millis(15),
        ..Link::default()
    }
}
