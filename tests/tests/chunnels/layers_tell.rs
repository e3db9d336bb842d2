//! Statistics of Chunnels that gather, pace, compress, repeat and order messages.

use crate::ends::{CLIENT, SERVER, connected};
use bertha_chunnels::batch::BatchStatistics;
use bertha_chunnels::compress::CompressStatistics;
use bertha_chunnels::nagle::NagleStatistics;
use bertha_chunnels::pace::PaceStatistics;
use bertha_chunnels::retry::{Correlated, RetryStatistics};
use bertha_chunnels::total_order::TotalOrderStatistics;
use bertha_chunnels::{Batch, Compress, Nagle, Pace, ReceiverOrdered, Retry, SequencerOrdered, Serialize};
use bertha_core::{Buf, Connection, Statistics, make_stack};
use bertha_datapath_sim::{Network, Sim, Verdict};
use bertha_negotiation::Negotiate;
use futures_util::poll;
use serde::{Deserialize, Serialize as Encode};
use std::pin::pin;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn simulate(test: impl AsyncFnOnce(&Network)) {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(test(&network));
}

fn message(len: usize) -> Buf {
    Buf::copy_of(&vec![7; len], 64).unwrap()
}

/// Returns the line of a layer.
fn line(statistics: &Statistics, name: &str) -> String {
    let layer = statistics.layers().find(|layer| layer.name() == name);
    layer.unwrap_or_else(|| panic!("no {name} in {statistics}")).to_string()
}

#[test]
fn batches_and_bursts_are_counted() {
    simulate(async |network| {
        let (client, _server) = connected(network, make_stack!(Batch::new())).await;
        for _ in 0..3 {
            client.send(message(100)).await.unwrap();
        }
        let told = |batch: &BatchStatistics| {
            (batch.to_send_batches, batch.messages, batch.batches, batch.lost_batches)
        };
        assert_eq!(told(client.statistics().get().unwrap()), (1, 3, 0, 0));
        network.runtime().sleep(2 * MS).await;
        assert_eq!(told(client.statistics().get().unwrap()), (0, 3, 1, 0));

        let (client, _server) = connected(network, make_stack!(Nagle::new().messages(4).wait(10 * MS))).await;
        for _ in 0..3 {
            client.send(message(100)).await.unwrap();
        }
        let told = |nagle: &NagleStatistics| (nagle.to_send_messages, nagle.messages, nagle.bursts);
        assert_eq!(told(client.statistics().get().unwrap()), (3, 0, 0));
        network.runtime().sleep(11 * MS).await;
        let statistics = client.statistics();
        assert_eq!(told(statistics.get().unwrap()), (0, 3, 1));
        let line = line(&statistics, "Nagle");
        assert_eq!(line, "Nagle: to send messages 0, capacity 64, messages 3, bursts 1, refused bursts 0");
    });
}

#[test]
fn senders_that_wait_for_the_rate_are_told_while_they_wait() {
    simulate(async |network| {
        let (client, _server) = connected(network, make_stack!(Pace::new(10_000).burst(100))).await;
        client.send(message(1_000)).await.unwrap();
        let told = || {
            let statistics = client.statistics();
            let pace: &PaceStatistics = statistics.get().unwrap();
            assert_eq!((pace.rate, pace.burst), (10_000, 100));
            (pace.waiting, pace.delayed)
        };
        assert_eq!(told(), (0, 0));
        {
            let (mut second, mut third) = (pin!(client.send(message(1))), pin!(client.send(message(1))));
            assert!(poll!(&mut second).is_pending() && poll!(&mut third).is_pending());
            assert_eq!(told(), (2, 2));
            second.await.unwrap();
            assert_eq!(told(), (1, 2));
        }
        assert_eq!(told(), (0, 2));
    });
}

#[test]
fn compressed_bytes_are_counted() {
    simulate(async |network| {
        let (client, server) = connected(network, make_stack!(Compress::new())).await;
        for len in [10, 1_000] {
            client.send(message(len)).await.unwrap();
            server.recv().await.unwrap();
        }
        let told: CompressStatistics = *client.statistics().get().unwrap();
        assert_eq!((told.compressed_messages, told.bytes_before), (1, 1_000), "the short message is stored");
        assert!((1..100).contains(&told.bytes_after), "{told:?}");
        let nothing = CompressStatistics::default();
        assert_eq!(server.statistics().get::<CompressStatistics>(), Some(&nothing), "it has sent nothing");
    });
}

/// A request or a reply.
#[derive(Clone, Encode, Deserialize)]
struct Numbered(u64);

impl Correlated for Numbered {
    fn id(&self) -> u64 {
        self.0
    }
}

#[test]
fn requests_are_told_while_they_wait_and_when_they_are_given_up() {
    simulate(async |network| {
        let stack = make_stack!(Serialize::<Numbered>::new());
        let mut incoming = stack.listen(network.host(SERVER), (SERVER, 0)).await.unwrap();
        let stack = make_stack!(Retry::new().attempts(2), Serialize::<Numbered>::new());
        let connecting = stack.connect(network.host(CLIENT), incoming.local_addr()).into_future();
        let (client, server) = futures_util::join!(connecting, incoming.next());
        let (client, server) = (client.unwrap(), server.unwrap());
        let told = || -> RetryStatistics { *client.statistics().get().unwrap() };
        client.send(Numbered(1)).await.unwrap();
        assert_eq!((told().under_way, told().resent, told().rtt), (1, 0, Duration::ZERO));
        server.send(server.recv().await.unwrap()).await.unwrap();
        client.recv().await.unwrap();
        assert!(told().under_way == 0 && told().rtt > Duration::ZERO && told().window > 1, "{:?}", told());
        client.send(Numbered(2)).await.unwrap();
        assert!(client.recv().await.is_err());
        assert_eq!((told().under_way, told().resent, told().given_up), (0, 1, 1));
    });
}

#[test]
fn messages_that_wait_for_their_turn_are_told() {
    simulate(async |network| {
        network.tap(|datagram| match datagram.payload.ends_with(b"lost") {
            true => Verdict::Drop,
            false => Verdict::Pass,
        });
        let (client, server) = connected(network, make_stack!(ReceiverOrdered::new())).await;
        for text in ["first", "lost", "third"] {
            client.send(Buf::copy_of(text.as_bytes(), 64).unwrap()).await.unwrap();
        }
        assert_eq!(*server.recv().await.unwrap(), *b"first");
        let told = || -> TotalOrderStatistics { *server.statistics().get().unwrap() };
        {
            let mut third = pin!(server.recv());
            while told().held_back == 0 {
                assert!(poll!(&mut third).is_pending());
                network.runtime().sleep(MS).await;
            }
            assert_eq!((told().sequences, told().gaps_skipped, told().leads), (1, 0, false));
            assert_eq!(*third.await.unwrap(), *b"third");
        }
        assert_eq!((told().held_back, told().gaps_skipped, told().capacity), (0, 1, 4_096));

        let (client, server) = connected(network, make_stack!(SequencerOrdered::new())).await;
        let leads = |statistics: Statistics| statistics.get::<TotalOrderStatistics>().unwrap().leads;
        assert!(!leads(client.statistics()) && leads(server.statistics()));
    });
}
