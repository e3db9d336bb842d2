//! Whole stacks over links that lose, repeat, reorder and damage messages: every message arrives, whole,
//! once, and in order.

use bertha_chunnels::congestion::{Algorithm, Bbr, Cubic, FixedWindow, NewReno};
use bertha_chunnels::{Fragment, Ordered, Reliable};
use bertha_core::{Addr, Base, Buf, Connection, Datapath, ErrorKind, Listener, Runtime, Wrap, make_stack};
use bertha_datapath_sim::{Link, Network, Sim};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// Returns the number of seeds, which run for half a minute on one core. `RELIABLE_SEEDS` sets another
/// number.
fn seeds() -> u64 {
    std::env::var("RELIABLE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(10_000)
}

/// Returns a link that loses, repeats or delays a third of all packets, and damages a twentieth besides.
pub(crate) fn worst() -> Link {
    Link {
        loss: 0.3,
        duplication: 0.3,
        reordering: 0.3,
        corruption: 0.05,
        delay: Duration::from_millis(5),
        detour: Duration::from_millis(20),
        mtu: 1_400,
        ..Link::default()
    }
}

fn each_seed(test: impl AsyncFn(Network, u64)) {
    for seed in 0..seeds() {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        network.set_link(worst());
        sim.run(test(network, seed));
    }
}

struct Boxed(Box<dyn Algorithm>);

impl std::fmt::Debug for Boxed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Algorithm for Boxed {
    fn start(&self, packet: u64) -> Box<dyn bertha_chunnels::congestion::CongestionControl> {
        self.0.start(packet)
    }
}

fn reliable(seed: u64) -> Reliable {
    let algorithms: [fn() -> Box<dyn Algorithm>; 4] =
        [|| Box::new(NewReno), || Box::new(Cubic), || Box::new(Bbr), || Box::new(FixedWindow(50_000))];
    Reliable::new().with(Boxed(algorithms[(seed % 4) as usize]()))
}

pub(crate) fn message(number: u64, len: usize) -> Buf {
    let mut message = Buf::new(8 + len, 64).unwrap();
    message.fill(number as u8);
    message[..8].copy_from_slice(&number.to_le_bytes());
    message
}

pub(crate) fn number(message: &[u8]) -> u64 {
    let number = u64::from_le_bytes(message[..8].try_into().unwrap());
    assert!(message[8..].iter().all(|byte| *byte == number as u8), "message {number} was changed");
    number
}

/// Returns two connected ends. The client's first message makes the server's connection.
pub(crate) async fn ends(network: &Network) -> [impl Connection<Data = Buf> + use<>; 2] {
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
    let client = network.host(CLIENT).connect(listener.local_addr()).await.unwrap();
    // The content does not matter: the stack drops the message as damaged.
    let knock = async {
        loop {
            client.send(Buf::copy_of(b"knock", 0).unwrap()).await.unwrap();
            network.runtime().sleep(Duration::from_millis(50)).await;
        }
    };
    let server = tokio::select! {
        server = listener.accept() => server.unwrap(),
        () = knock => unreachable!("it knocks for ever"),
    };
    // The port stays known, so late packets make no further connections, which no task would accept.
    std::mem::forget(listener);
    [client, server]
}

#[test]
fn a_sequence_of_messages_of_all_sizes_arrives_in_order() {
    each_seed(async |network, seed| {
        let stack = make_stack!(Ordered::new(), Fragment::new().limit(1 << 20), reliable(seed));
        let [here, there] = ends(&network).await;
        let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
        let lens = [0, 17, 1_000, 1_304, 3_000, 0, 40_000, 5];
        let send = async {
            for (number, len) in lens.into_iter().enumerate() {
                here.send(message(number as u64, len)).await.unwrap();
            }
            here.close().await.unwrap();
        };
        let receive = async {
            for (expected, len) in lens.into_iter().enumerate() {
                let message = there.recv().await.unwrap();
                assert_eq!((number(&message), message.len()), (expected as u64, 8 + len), "seed {seed}");
            }
            assert_eq!(there.recv().await.unwrap_err().kind(), ErrorKind::Closed, "seed {seed}");
        };
        futures_util::join!(send, receive);
    });
}

/// Far more packets are on the way than the largest messages take, and most messages lack a piece at some
/// time.
#[test]
fn long_messages_arrive_while_many_lack_a_piece() {
    for seed in 0..8 {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        let delay = Duration::from_millis(50);
        network.set_link(Link { loss: 0.05, delay, mtu: 1_400, ..Link::default() });
        sim.run(async {
            let reliable = Reliable::new().with(FixedWindow(4 << 20));
            let stack = make_stack!(Ordered::new(), Fragment::new().limit(20_000), reliable);
            let [here, there] = ends(&network).await;
            let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
            let send = async {
                for number in 0..300 {
                    here.send(message(number, 19_000)).await.unwrap();
                }
            };
            let receive = async {
                for expected in 0..300 {
                    assert_eq!(number(&there.recv().await.unwrap()), expected, "seed {seed}");
                }
            };
            futures_util::join!(send, receive);
        });
    }
}

const COUNT: u64 = 40;

async fn send_all(connection: &impl Connection<Data = Buf>, len: impl Fn(u64) -> usize) {
    for number in 0..COUNT {
        connection.send(message(number, len(number))).await.unwrap();
    }
}

async fn receive_all(connection: &impl Connection<Data = Buf>, seed: u64) {
    let mut numbers = Vec::new();
    for _ in 0..COUNT {
        numbers.push(number(&connection.recv().await.unwrap()));
    }
    numbers.sort_unstable();
    assert_eq!(numbers, Vec::from_iter(0..COUNT), "seed {seed}");
}

#[test]
fn messages_both_ways_arrive_once_each() {
    each_seed(async |network, seed| {
        let stack = reliable(seed).buffer(0, 0);
        let [here, there] = ends(&network).await;
        let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
        futures_util::join!(
            send_all(&here, |number| (number * 7 % 90) as usize),
            send_all(&there, |number| (number * 331 % 1_300) as usize),
            receive_all(&here, seed),
            receive_all(&there, seed),
        );
        let (one, other) = futures_util::join!(here.close(), there.close());
        assert!(one.is_ok() && other.is_ok(), "seed {seed}: {one:?}, {other:?}");
    });
}

/// `send` waits while the peer does not receive, and the number of kept messages is bounded.
#[test]
fn a_peer_that_receives_nothing_holds_the_sender_back() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let stack = Reliable::new().buffer(0, 0);
        let [here, there] = ends(&network).await;
        let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
        let mut sent = 0;
        let flood = async {
            loop {
                here.send(message(sent, 1_000)).await.unwrap();
                sent += 1;
            }
        };
        let runtime = there.base().runtime();
        let stop = runtime.sleep_until(runtime.now() + Duration::from_secs(20));
        tokio::select! {
            () = flood => unreachable!("it sends for ever"),
            () = stop => {}
        }
        // Each end keeps 64 messages.
        assert!((64..=128).contains(&sent), "{sent} sent");
        for expected in 0..sent {
            assert_eq!(number(&there.recv().await.unwrap()), expected);
        }
    });
}

#[test]
fn a_peer_that_vanishes_is_a_timeout() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let stack = Reliable::new().idle_timeout(Duration::from_secs(5));
        let [here, there] = ends(&network).await;
        let (here, _there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
        network.cut(CLIENT, SERVER);
        here.send(message(1, 10)).await.unwrap();
        let start = network.runtime().elapsed();
        assert_eq!(here.recv().await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(here.send(message(1, 10)).await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(here.close().await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(network.runtime().elapsed() - start <= Duration::from_secs(6));
    });
}

#[test]
fn who_closes_long_after_the_peer_did_succeeds() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let stack = Reliable::new().idle_timeout(Duration::from_secs(5));
        let [here, there] = ends(&network).await;
        let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
        there.close().await.unwrap();
        assert_eq!(here.recv().await.unwrap_err().kind(), ErrorKind::Closed);
        network.runtime().sleep(Duration::from_secs(10)).await;
        here.close().await.unwrap();
    });
}
