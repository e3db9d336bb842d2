//! A broker that keeps its data, while everything that can fail does fail: the broker is killed and stopped,
//! the ways to it are cut, and receivers are killed with messages in their hands. The test then compares the
//! messages sent and received with the promises: a message that `send` has confirmed arrives; messages with
//! the same key arrive in order, apart from repetitions; and nothing arrives that was not sent.
//!
//! `CHAOS_QUEUE_SECONDS` is the length of the test (15), and `CHAOS_SEED` chooses the failures and their
//! times; the test prints the seed.

mod way;

use crate::broker::Broker;
use bertha_core::{Buf, Connection, OrdersByKey};
use bertha_queues::nats::Nats;
use bertha_queues::{QueueSettings, Topic};
use bertha_tests::conformance::queue::Receiver;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use way::Way;

const KEYS: u64 = 5;
const TOPIC: &str = "chaos";

/// Time after which all ends must have recovered.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The place of a message among the messages with its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Number {
    key: u64,
    at: u64,
}

impl Number {
    fn encode(self) -> Buf {
        Buf::copy_of(&[self.key.to_be_bytes(), self.at.to_be_bytes()].concat(), 0).unwrap()
    }

    fn decode(message: &[u8]) -> Self {
        let (key, at) = message.split_at(8);
        Self {
            key: u64::from_be_bytes(key.try_into().unwrap()),
            at: u64::from_be_bytes(at.try_into().unwrap()),
        }
    }
}

/// The messages of a run.
#[derive(Default)]
struct History {
    /// The messages that were given to `send`.
    sent: HashSet<Number>,
    /// The messages that `send` has confirmed.
    confirmed: HashSet<Number>,
    /// The received messages, in the order in which the receivers got them.
    received: Vec<Number>,
}

impl History {
    fn missing(&self) -> usize {
        let received: HashSet<_> = self.received.iter().collect();
        self.confirmed.iter().filter(|number| !received.contains(number)).count()
    }

    fn check(&self) {
        assert_eq!(self.missing(), 0, "confirmed messages are lost");
        let (mut seen, mut last) = (HashSet::new(), HashMap::new());
        for number in &self.received {
            assert!(self.sent.contains(number), "{number:?} was not sent");
            if seen.insert(number) {
                let before = last.insert(number.key, number.at);
                assert!(before.is_none_or(|before| before < number.at), "{number:?} came behind {before:?}");
            }
        }
    }
}

/// Opens the topic, with equal client settings at all ends and in the program that is killed.
async fn topic(port: u16) -> Topic<Nats> {
    let nats = Nats::connect(&format!("nats://127.0.0.1:{port}")).await.unwrap();
    // A message that is in the wrong place at each failure is no poison.
    let nats = nats.ordered_by_key(8).redelivery(Duration::from_secs(1)).dead_letters_after(10_000);
    let mut settings = QueueSettings::default();
    settings.long_poll = Duration::from_secs(2);
    settings.max_retry_pause = Duration::from_millis(500);
    Topic::new(nats, TOPIC).settings(settings)
}

async fn publish(topic: Topic<Nats>, history: Arc<Mutex<History>>, goes_on: watch::Receiver<bool>) {
    let publisher = topic.publisher().await.unwrap();
    for at in 0.. {
        for key in 0..KEYS {
            let number = Number { key, at };
            history.lock().unwrap().sent.insert(number);
            // The server may have stored a message without a confirmation.
            if publisher.send_by_key(key, number.encode()).await.is_ok() {
                history.lock().unwrap().confirmed.insert(number);
            }
        }
        if !*goes_on.borrow() {
            return;
        }
        // The server hands out one message of a key at a time, so receivers are slower than this sender.
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn receive(topic: Topic<Nats>, history: Arc<Mutex<History>>) {
    let receiver = topic.receiver("all").await.unwrap();
    loop {
        let mut burst = Vec::new();
        if receiver.recv_batch(&mut burst, 4).await.is_ok() {
            // The messages are recorded before they are acknowledged, since the next messages of their keys come
            // afterwards.
            history.lock().unwrap().received.extend(burst.iter().map(|message| Number::decode(message)));
            burst.into_iter().for_each(Buf::done);
        } else {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Pseudo-random numbers, by splitmix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// Makes one failure after the other. Each kind of failure occurs in each round.
#[allow(clippy::print_stdout, reason = "what happened is part of the result")]
async fn suffer(broker: &Broker, ways: &[Way], mut dice: Dice, lasting: Duration) {
    let begun = Instant::now();
    for round in 0.. {
        if begun.elapsed() >= lasting {
            return;
        }
        let mut kinds = [0, 1, 2, 3];
        let (a, b) = (dice.roll(4) as usize, dice.roll(4) as usize);
        kinds.swap(a, b);
        for kind in kinds {
            tokio::time::sleep(Duration::from_millis(200 + dice.roll(500))).await;
            let time = Duration::from_millis(200 + dice.roll(1500));
            println!("{:6.2} s round {round}, failure {kind} for {time:?}", begun.elapsed().as_secs_f64());
            match kind {
                0 => {
                    broker.act("kill");
                    tokio::time::sleep(time).await;
                    broker.act("start");
                }
                1 => {
                    broker.signal("STOP");
                    tokio::time::sleep(time).await;
                    broker.signal("CONT");
                }
                2 => {
                    let way = &ways[dice.roll(ways.len() as u64) as usize];
                    way.cut(true);
                    tokio::time::sleep(time).await;
                    way.cut(false);
                }
                _ => {
                    let service = format!("nats-by-key:nats://127.0.0.1:{}", broker.port());
                    let program = Path::new(env!("CARGO_BIN_EXE_queue_receiver"));
                    Receiver::holding(program, &service, TOPIC, "all", 1).await.kill();
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[allow(clippy::print_stdout, reason = "the seed is part of the result")]
async fn whatever_fails_no_confirmed_message_is_lost_and_keys_stay_in_order() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("CHAOS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let lasting = Duration::from_secs(number("CHAOS_QUEUE_SECONDS").unwrap_or(15));
    println!("seed {seed}");
    let broker = match Broker::new("nats", "chaos") {
        Ok(broker) => broker,
        Err(reason) => return bertha_tests::skip(&format!("chaos over a queue: {reason}")),
    };
    // The publisher and the two receivers each have a relay of their own.
    let ways = [Way::to(broker.port()).await, Way::to(broker.port()).await, Way::to(broker.port()).await];
    topic(broker.port()).await.create().await.unwrap();
    let (history, (go_on, goes_on)) = (Arc::<Mutex<History>>::default(), watch::channel(true));
    let mut ends = tokio::task::JoinSet::new();
    for way in &ways[1..] {
        ends.spawn(receive(topic(way.port).await, history.clone()));
    }
    // The subscription is there before the first message.
    drop(topic(broker.port()).await.receiver("all").await.unwrap());
    let publisher = tokio::spawn(publish(topic(ways[0].port).await, history.clone(), goes_on));
    suffer(&broker, &ways, Dice(seed), lasting).await;
    go_on.send_replace(false);
    tokio::time::timeout(TIMEOUT, publisher).await.expect("the publisher gets over it").unwrap();
    println!("the publisher is done");
    let over = Instant::now();
    while history.lock().unwrap().missing() > 0 && over.elapsed() < TIMEOUT {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    println!("all have got over it after {:.2} s", over.elapsed().as_secs_f64());
    ends.shutdown().await;
    let history = history.lock().unwrap();
    let (sent, confirmed, received) = (history.sent.len(), history.confirmed.len(), history.received.len());
    println!("{sent} sent, {confirmed} confirmed, {received} received with repetitions");
    history.check();
    assert!(confirmed > 100, "{confirmed} messages are no test");
}

#[test]
fn a_history_that_breaks_a_promise_is_found() {
    let number = |at| Number { key: 1, at };
    let of = |received: &[u64]| History {
        sent: (0..3).map(number).collect(),
        confirmed: (0..2).map(number).collect(),
        received: received.iter().map(|at| number(*at)).collect(),
    };
    of(&[0, 1]).check();
    of(&[0, 1, 0, 1, 2]).check();
    for wrong in [&[0][..], &[1, 0], &[0, 1, 3], &[0, 2, 1]] {
        assert!(std::panic::catch_unwind(|| of(wrong).check()).is_err(), "{wrong:?}");
    }
}
