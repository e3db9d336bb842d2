//! Reconnecting over a simulated network.

use bertha_chunnels::{Fragment, Ordered, Reliable, Serialize};
use bertha_core::backoff::Backoff;
use bertha_core::{
    Addr, Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Runtime, Wrap,
    make_stack,
};
use bertha_datapath_sim::{Link, Network, Sim, SimRuntime, pair_of};
use bertha_negotiation::{Negotiate, Received, Reconnecting, Runs};
use futures_util::future::{Either, select};
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];
const MESSAGES: u64 = 100;
/// Number of messages that the client sends ahead of the answers.
const WINDOW: u64 = 4;

fn server_addr() -> Addr {
    (SERVER, 4242).into()
}

fn simulate<T, F: Future<Output = T>>(seed: u64, main: impl FnOnce(Network) -> F) -> T {
    let mut sim = Sim::new(seed);
    let network = sim.network().clone();
    sim.run(main(network))
}

async fn pause(runtime: &SimRuntime, millis: u64) {
    runtime.sleep_until(runtime.now() + Duration::from_millis(millis)).await;
}

/// Runs a server that answers some messages, takes some without an answer, goes away, and comes back after a
/// while.
async fn unsteady<S, D>(stack: S, datapath: D, runtime: SimRuntime, arrived: Arc<Mutex<BTreeSet<u64>>>)
where
    S: Negotiate + Clone + 'static,
    D: Runs<S, Out: Connection<Data = u64>> + Clone,
{
    loop {
        let mut incoming = stack.clone().listen(datapath.clone(), server_addr()).await.unwrap();
        let Some(Ok(connection)) = incoming.next_or_refusal().await else { continue };
        let answered = runtime.random() % 20;
        for number in 0..answered + runtime.random() % WINDOW {
            let idle = pin!(pause(&runtime, 1000));
            let Either::Left((Ok(message), _)) = select(pin!(connection.recv()), idle).await else { break };
            arrived.lock().unwrap().insert(message);
            if number < answered && connection.send(message).await.is_err() {
                break;
            }
        }
        drop((connection, incoming));
        pause(&runtime, runtime.random() % 3000).await;
    }
}

#[derive(Debug, Default)]
struct Outcome {
    confirmed: BTreeSet<u64>,
    in_doubt: BTreeSet<u64>,
    arrived: BTreeSet<u64>,
    losses: u64,
}

/// The datapath between the ends. A stack over datagrams repeats and orders messages by itself.
#[derive(Debug, Clone, Copy)]
enum Site {
    Streams,
    Datagrams,
}

/// Returns the outcome of a client's messages, sent and received one by one or in bursts.
fn history(seed: u64, site: Site, in_bursts: bool) -> Outcome {
    simulate(seed, async |network: Network| {
        network.set_link(Link::poor(0.05));
        let (client, server) = (network.host(CLIENT), network.host(SERVER));
        let plain = make_stack!(Serialize::<u64>::new());
        let repeating = make_stack!(Serialize::<u64>::new(), Ordered::new(), Reliable::new());
        match site {
            Site::Streams => of_stack(plain, client.streams(), server.streams(), network, in_bursts).await,
            Site::Datagrams => of_stack(repeating, client, server, network, in_bursts).await,
        }
    })
}

async fn of_stack<S, D>(stack: S, client: D, server: D, network: Network, in_bursts: bool) -> Outcome
where
    S: Negotiate + Clone + 'static,
    D: Runs<S, Out: Connection<Data = u64>> + Clone,
{
    let (runtime, arrived) = (network.runtime().clone(), Arc::<Mutex<BTreeSet<u64>>>::default());
    let serving = unsteady(stack.clone(), server, runtime.clone(), arrived.clone());
    std::mem::forget(runtime.spawn(serving));
    pause(&runtime, 1).await;
    let connection = stack.connect(client, server_addr()).reconnecting(Backoff::default()).await.unwrap();
    let (mut outcome, mut next) = (Outcome::default(), 0);
    while next < MESSAGES || connection.unconfirmed() > 0 {
        while next < MESSAGES && connection.unconfirmed() < WINDOW {
            let burst =
                next..MESSAGES.min(next + if in_bursts { WINDOW - connection.unconfirmed() } else { 1 });
            match in_bursts {
                true => assert_eq!(connection.send_batch(burst.clone()).await.unwrap(), burst),
                false => assert_eq!(connection.send(next).await.unwrap(), next),
            }
            next = burst.end;
        }
        let mut answers = Vec::new();
        let received = match in_bursts {
            true => connection.recv_batch(&mut answers, 3).await.unwrap(),
            false => match connection.recv().await.unwrap() {
                Received::Message(number) => {
                    answers.push(number);
                    Received::Message(1)
                }
                Received::Interrupted(loss) => Received::Interrupted(loss),
            },
        };
        match received {
            Received::Message(count) => assert_eq!(count, answers.len()),
            Received::Interrupted(loss) => {
                outcome.losses += loss.lost;
                outcome.in_doubt.extend(loss.in_doubt);
            }
        }
        for number in answers {
            connection.confirm(number);
            outcome.confirmed.insert(number);
        }
    }
    // The last messages in doubt may not have been reported yet.
    if let Some(loss) = connection.take_interruption() {
        outcome.losses += loss.lost;
        outcome.in_doubt.extend(loss.in_doubt);
    }
    connection.close().await.ok();
    assert_eq!(connection.send(0).await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(connection.send_batch([0].into_iter()).await.unwrap_err().kind(), ErrorKind::Closed);
    outcome.arrived = std::mem::take(&mut *arrived.lock().unwrap());
    outcome
}

/// Each message is confirmed or in doubt. Some messages in doubt have arrived, and the rest is lost.
#[test]
fn every_message_is_confirmed_or_told_to_be_in_doubt() {
    check_histories(Site::Streams, false);
}

#[test]
fn so_is_each_of_a_burst() {
    check_histories(Site::Streams, true);
}

#[test]
fn so_it_is_over_lossy_datagrams() {
    check_histories(Site::Datagrams, false);
    check_histories(Site::Datagrams, true);
}

fn check_histories(site: Site, in_bursts: bool) {
    let (mut losses, mut doubtful_arrived, mut doubtful_lost) = (0, 0, 0);
    for seed in 0..100 {
        let Outcome { confirmed, in_doubt, arrived, losses: lost } = history(seed, site, in_bursts);
        // An answer may come after the loss that put its message in doubt.
        let told: BTreeSet<_> = confirmed.union(&in_doubt).copied().collect();
        assert_eq!(told, (0..MESSAGES).collect(), "seed {seed}");
        assert!(confirmed.is_subset(&arrived), "seed {seed}");
        losses += lost;
        doubtful_arrived += in_doubt.intersection(&arrived).count();
        doubtful_lost += in_doubt.difference(&arrived).count();
    }
    assert!(losses > 300, "only {losses} connections were lost");
    assert!(
        doubtful_arrived > 100 && doubtful_lost > 100,
        "{doubtful_arrived} arrived, {doubtful_lost} did not"
    );
}

/// Takes ten milliseconds for each message.
#[derive(Debug, Clone, Identity)]
#[chunnel(one_sided)]
struct Slowly;

struct Slow<C>(C);

impl<C: Carries<u64, Self>> Chunnel<C> for Slowly {
    type Connection = Slow<C>;

    async fn connect_wrap(&self, inner: C, _: ConnectContext<'_, C>) -> Result<Slow<C>, Error> {
        Ok(Slow(inner))
    }
}

impl<C: Connection<Data = u64>> Connection for Slow<C> {
    type Data = u64;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.0.base()
    }

    async fn send(&self, message: u64) -> Result<(), Error> {
        self.0.send(message).await?;
        let runtime = self.base().runtime();
        runtime.sleep_until(runtime.now() + Duration::from_millis(10)).await;
        Ok(())
    }

    fn recv(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        self.0.recv()
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.close()
    }
}

/// The connection is lost in the middle of a burst, as another call finds out. The rest of the burst goes
/// over the next connection.
#[test]
fn a_burst_goes_on_over_the_next_connection() {
    simulate(1, async |network: Network| {
        let (client, server) = (network.host(CLIENT).streams(), network.host(SERVER).streams());
        let plain = make_stack!(Serialize::<u64>::new());
        let mut incoming = plain.listen(server, server_addr()).await.unwrap();
        let stack = make_stack!(Slowly, Serialize::<u64>::new());
        let connecting = stack.connect(client, server_addr()).reconnecting(Backoff::default());
        let (connection, first) = futures_util::join!(connecting, incoming.next_or_refusal());
        let (connection, first) = (connection.unwrap(), first.unwrap().unwrap());
        let hearing = async {
            match connection.recv().await.unwrap() {
                Received::Interrupted(loss) => loss,
                Received::Message(message) => panic!("nobody has sent {message}"),
            }
        };
        let serving = async {
            let mut arrived = vec![first.recv().await.unwrap()];
            drop(first);
            let second = incoming.next().await.unwrap();
            while arrived.last() != Some(&9) {
                arrived.push(second.recv().await.unwrap());
            }
            (arrived, second)
        };
        let (numbers, loss, (arrived, _second)) =
            futures_util::join!(connection.send_batch(0..10), hearing, serving);
        assert_eq!(numbers.unwrap(), 0..10);
        assert!(loss.in_doubt.start == 0 && loss.in_doubt.end < 9, "{:?}", loss.in_doubt);
        assert_eq!(arrived, [0].into_iter().chain(loss.in_doubt.end..10).collect::<Vec<_>>());
    });
}

/// A `recv` in a loop that drops it after a short time makes progress nevertheless.
#[test]
fn an_attempt_to_connect_outlives_the_call_that_began_it() {
    simulate(7, async |network: Network| {
        network.set_link(Link { delay: Duration::from_millis(30), ..Link::default() });
        let listen = async || {
            let stack = make_stack!(Serialize::<u64>::new());
            stack.listen(network.host(SERVER).streams(), server_addr()).await.unwrap()
        };
        let stack = make_stack!(Serialize::<u64>::new());
        let mut incoming = listen().await;
        let connecting =
            stack.connect(network.host(CLIENT).streams(), server_addr()).reconnecting(Backoff::default());
        let (served, connection) = futures_util::join!(incoming.next_or_refusal(), connecting);
        let connection = connection.unwrap();
        connection.send(1).await.unwrap();
        drop(served);
        let Received::Interrupted(loss) = connection.recv().await.unwrap() else {
            panic!("nothing was sent")
        };
        assert_eq!((loss.in_doubt, loss.lost), (0..1, 1));
        let mut serving = pin!(async {
            let served = incoming.next().await.unwrap();
            served.send(5).await.unwrap();
            std::future::pending::<()>().await;
        });
        for _ in 0..1000 {
            let little = async {
                let time = pin!(pause(network.runtime(), 10));
                match select(pin!(connection.recv()), time).await {
                    Either::Left((received, _)) => Some(received.unwrap()),
                    Either::Right(_) => None,
                }
            };
            let Either::Left((received, _)) = select(pin!(little), serving.as_mut()).await else {
                unreachable!()
            };
            if let Some(received) = received {
                assert_eq!(received, Received::Message(5));
                return;
            }
        }
        panic!("no connection came about in ten seconds");
    });
}

#[test]
fn an_error_that_repeats_itself_ends_the_attempts() {
    simulate(8, async |network: Network| {
        let stack = make_stack!(Serialize::<u64>::new());
        let mut incoming = stack.clone().listen(network.host(SERVER), server_addr()).await.unwrap();
        let connecting = stack.connect(network.host(CLIENT), server_addr()).reconnecting(Backoff::default());
        let (served, connection) = futures_util::join!(incoming.next_or_refusal(), connecting);
        let connection = connection.unwrap();
        drop((served, incoming));
        let other = make_stack!(Serialize::<String>::new());
        let mut incoming = other.listen(network.host(SERVER), server_addr()).await.unwrap();
        let serving = network.runtime().spawn(async move { while incoming.next().await.is_some() {} });
        assert!(matches!(connection.recv().await.unwrap(), Received::Interrupted(loss) if loss.count() == 0));
        let before = network.runtime().now();
        assert_eq!(connection.recv().await.unwrap_err().kind(), ErrorKind::Refused);
        assert!(network.runtime().now() - before < Duration::from_millis(100));
        assert_eq!(connection.connections(), 1);
        drop(serving);
    });
}

/// Makes a piece of a message of 256 bytes, with this content.
fn piece(content: u8) -> Buf {
    let mut piece = Buf::new(15 + 100, 0).unwrap();
    piece.fill(content);
    piece[..15].copy_from_slice(&[1, 9, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 100, 0]);
    piece
}

/// The error has a kind that most connections survive.
#[test]
fn a_connection_that_has_ended_is_made_again_whatever_the_kind_of_its_end() {
    simulate(11, async |network: Network| {
        let (near, far) = pair_of::<_, Buf>(network.runtime().clone());
        let (next, next_far) = pair_of::<_, Buf>(network.runtime().clone());
        let ends = [Fragment::new().wrap(next).await.unwrap(), Fragment::new().wrap(near).await.unwrap()];
        let next_far = Fragment::new().wrap(next_far).await.unwrap();
        let ends = Mutex::new(Vec::from(ends));
        let connect = move || std::future::ready(Ok(ends.lock().unwrap().pop().unwrap()));
        let connection = Reconnecting::new(connect, Backoff::default()).await.unwrap();
        far.send(piece(1)).await.unwrap();
        far.send(piece(2)).await.unwrap();
        let Received::Interrupted(loss) = connection.recv().await.unwrap() else {
            panic!("nothing was sent whole")
        };
        assert_eq!((loss.lost, loss.kind), (1, ErrorKind::Malformed));
        next_far.send(Buf::copy_of(&[5], 0).unwrap()).await.unwrap();
        let Received::Message(message) = connection.recv().await.unwrap() else {
            panic!("one connection was lost")
        };
        assert_eq!(*message, [5]);
    });
}

#[test]
fn messages_that_had_arrived_come_before_the_news_of_the_loss() {
    simulate(9, async |network: Network| {
        let (near, far) = pair_of::<_, u64>(network.runtime().clone());
        let (next, _next_far) = pair_of::<_, u64>(network.runtime().clone());
        let ends = Mutex::new(vec![next, near]);
        let connect = move || std::future::ready(Ok(ends.lock().unwrap().pop().unwrap()));
        let connection = Reconnecting::new(connect, Backoff::default()).await.unwrap();
        far.send(1).await.unwrap();
        far.send(2).await.unwrap();
        far.close().await.unwrap();
        assert_eq!(connection.send(7).await.unwrap(), 0);
        assert_eq!(connection.recv().await.unwrap(), Received::Message(1));
        // The connection that takes the other's place is in use meanwhile.
        assert_eq!(connection.send(8).await.unwrap(), 1);
        assert_eq!(connection.connections(), 2);
        assert_eq!(connection.recv().await.unwrap(), Received::Message(2));
        let Received::Interrupted(loss) = connection.recv().await.unwrap() else {
            panic!("nothing more was sent")
        };
        assert_eq!((loss.in_doubt, loss.kind), (0..1, ErrorKind::Closed));
        assert_eq!(connection.unconfirmed(), 1);
    });
}

#[test]
fn a_clean_end_of_the_peer_differs_from_a_cut_end() {
    for (closes, expected) in [(true, ErrorKind::Closed), (false, ErrorKind::Reset)] {
        simulate(12, async |network: Network| {
            let stack = make_stack!(Serialize::<u64>::new(), Ordered::new(), Reliable::new());
            let mut incoming = stack.clone().listen(network.host(SERVER), server_addr()).await.unwrap();
            let serving = async {
                let served = incoming.next().await.unwrap();
                for number in 0..3 {
                    served.send(number).await.unwrap();
                }
                served.drain().await.unwrap();
                if closes {
                    served.close().await.unwrap();
                }
            };
            let asking = async {
                let connecting = stack.connect(network.host(CLIENT), server_addr());
                let connection = connecting.reconnecting(Backoff::default()).await.unwrap();
                for number in 0..3 {
                    assert_eq!(connection.recv().await.unwrap(), Received::Message(number));
                }
                match connection.recv().await.unwrap() {
                    Received::Interrupted(loss) => loss.kind,
                    Received::Message(message) => panic!("{message} was not sent"),
                }
            };
            let ((), kind) = futures_util::join!(serving, asking);
            assert_eq!(kind, expected);
        });
    }
}

/// A waiting `recv` and a connecting `recv` both hear of the close.
#[test]
fn closing_ends_calls_that_wait_and_calls_that_connect() {
    for is_lost in [false, true] {
        simulate(10, async |network: Network| {
            let (near, far) = pair_of::<_, u64>(network.runtime().clone());
            let ends = Mutex::new(vec![near]);
            let connect = move || {
                let end = ends.lock().unwrap().pop();
                async move {
                    match end {
                        Some(end) => Ok(end),
                        None => std::future::pending().await,
                    }
                }
            };
            let connection = Reconnecting::new(connect, Backoff::default()).await.unwrap();
            if is_lost {
                far.close().await.unwrap();
                assert!(matches!(connection.recv().await.unwrap(), Received::Interrupted(_)));
            }
            let waiting = futures_util::future::join(connection.recv(), async {
                pause(network.runtime(), 1).await;
                connection.close().await.unwrap();
            });
            assert_eq!(waiting.await.0.unwrap_err().kind(), ErrorKind::Closed);
        });
    }
}
