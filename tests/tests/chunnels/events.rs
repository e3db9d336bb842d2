//! Events of `tracing` tell why a connection is slow or gone. The guide `observing` lists them.

use crate::ends::{CLIENT, SERVER, connected};
use bertha_chunnels::{Checksum, Fragment, Reliable};
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_sim::{Link, Sim, Verdict};
use bertha_negotiation::Negotiate;
use futures_util::future::{join, select};
use std::io::{self, Write};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tracing::Level;
use tracing::subscriber::DefaultGuard;

/// The events of this thread as lines of text.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Lines {
    /// Captures the events until the guard is dropped.
    pub(crate) fn capture() -> (Self, DefaultGuard) {
        let lines = Self::default();
        let writer = lines.clone();
        let log = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_ansi(false).without_time();
        let guard = tracing::subscriber::set_default(log.with_writer(move || writer.clone()).finish());
        (lines, guard)
    }

    /// Returns the lines that contain all of these texts.
    pub(crate) fn with(&self, texts: &[&str]) -> Vec<String> {
        let lines = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let has_all = |line: &&str| texts.iter().all(|text| line.contains(text));
        lines.lines().filter(has_all).map(str::to_owned).collect()
    }

    /// Checks that an event with these texts was told.
    pub(crate) fn expect(&self, texts: &[&str]) {
        assert!(!self.with(texts).is_empty(), "nothing told {texts:?}: {:#?}", self.with(&[texts[0]]));
    }
}

fn message(len: usize) -> Buf {
    Buf::copy_of(&vec![7; len], 64).unwrap()
}

#[test]
fn reliable_tells_losses_probes_a_slow_reader_and_its_end() {
    let (lines, _guard) = Lines::capture();
    let mut sim = Sim::new(3);
    let network = sim.network().clone();
    network.set_link(Link { loss: 0.05, ..Link::default() });
    sim.run(async {
        let (client, server) = connected(&network, make_stack!(Reliable::new().buffer(1 << 20, 64))).await;
        for _ in 0..500 {
            client.send(message(1_000)).await.unwrap();
            server.recv().await.unwrap();
        }
        network.set_link(Link::default());
        assert!(lines.with(&["the peer's grant is used up"]).is_empty(), "the peer receives");
        {
            let sending = async {
                loop {
                    client.send(message(100)).await.unwrap();
                }
            };
            select(pin!(sending), pin!(network.runtime().sleep(Duration::from_secs(5)))).await;
        }
        for _ in 0..64 {
            server.recv().await.unwrap();
        }
        network.runtime().sleep(Duration::from_secs(1)).await;
        network.set_link(Link { loss: 1.0, ..Link::default() });
        while client.recv().await.is_ok() {}
    });
    let told = |texts: &[&str]| lines.expect(&[&["bertha::reliable: ", "peer=10.0.0.2:"], texts].concat());
    told(&["TRACE", "packets are lost or marked", "lost=1", "window_before=", "window="]);
    told(&["TRACE", "the peer's grant is used up"]);
    told(&["TRACE", "the peer grants more messages", "held="]);
    told(&["DEBUG", "so the peer is probed", "in_a_row=2"]);
    let ends = lines.with(&["DEBUG", "bertha::reliable", "the connection ends", "reason=", "peer=10.0.0.2:"]);
    assert_eq!(ends.len(), 1, "{ends:#?}");
    assert!(!ends[0].contains("lost=0 ") && ends[0].contains("nothing was heard"), "{ends:#?}");
}

#[test]
fn fragment_tells_the_size_that_the_path_carries() {
    let (lines, _guard) = Lines::capture();
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    network.set_link(Link { mtu: 9_000, delay: Duration::from_millis(10), ..Link::default() });
    let carries = Arc::new(AtomicUsize::new(1_472));
    let limit = carries.clone();
    network.tap(move |datagram| match datagram.payload.len() <= limit.load(Relaxed) {
        true => Verdict::Pass,
        false => Verdict::Drop,
    });
    sim.run(async {
        let (client, server) = connected(&network, make_stack!(Fragment::new().discover_path())).await;
        let receiving = join(async { while client.recv().await.is_ok() {} }, async {
            while server.recv().await.is_ok() {}
        });
        let sending = async {
            for second in 0..60 {
                if second == 20 {
                    carries.store(1_300, Relaxed);
                }
                client.send(message(2_000)).await.unwrap();
                network.runtime().sleep(Duration::from_secs(1)).await;
            }
        };
        select(pin!(receiving), pin!(sending)).await;
    });
    let told = |texts: &[&str]| {
        lines.expect(&[&["DEBUG", "bertha::fragment: ", "peer=10.0.0.2:"], texts].concat());
    };
    told(&["the path carries larger messages", "size=1472"]);
    told(&["they become shorter", "before=1472", "size=1200"]);
}

#[test]
fn negotiation_tells_agreements_refusals_and_silent_peers_with_the_address() {
    let (lines, _guard) = Lines::capture();
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let (client, _server) = connected(&network, make_stack!(Checksum::new())).await;
        let other = make_stack!(Reliable::new()).listen(network.host(SERVER), (SERVER, 0)).await;
        let mut incoming = other.unwrap();
        let to = incoming.local_addr();
        let stack = make_stack!(Checksum::new());
        let refused = stack.connect(network.host(CLIENT), to).into_future();
        let (refused, at_server) = join(refused, incoming.next_or_refusal()).await;
        assert!(refused.is_err() && at_server.unwrap().is_err());
        network.set_link(Link { loss: 1.0, ..Link::default() });
        while client.recv().await.is_ok() {}
    });
    let told = |texts: &[&str]| lines.expect(&[&["DEBUG", "bertha::negotiation: "], texts].concat());
    told(&["connected", "agreement=Checksum", "peer=10.0.0.2:"]);
    told(&["accepted", "agreement=Checksum", "peer=10.0.0.1:"]);
    told(&["refused an offer", "peer=10.0.0.1:", "error="]);
    told(&["nothing was agreed", "to=10.0.0.2:", "error="]);
    told(&["a connection ends", "reason=TimedOut", "peer=10.0.0.2:"]);
}
