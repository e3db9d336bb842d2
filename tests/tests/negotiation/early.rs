//! Connections that are used before the server has answered.

use crate::scene::{A, B, CLIENT, SERVER, bytes, client, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{
    Buf, Carries, Chunnel, Connection, Describe, Error, ErrorKind, Identity, More, Role, Runtime, make_stack,
    select,
};
use bertha_datapath_sim::{Datagram, Network, SimDatapath, Verdict};
use bertha_negotiation::wire::{self, Kind};
use bertha_negotiation::{
    Credentials, Early, EarlyCache, IdentityKey, Incoming, Negotiate, Runs, Settings, SharedKey, ZeroRtt,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

/// What a server received, one list for each connection, in the order in which they were accepted.
pub(crate) type History = Arc<Mutex<Vec<Vec<String>>>>;

/// A server that writes down what it receives, and sends it back.
pub(crate) fn record<S>(network: &Network, mut incoming: Incoming<S, SimDatapath>) -> History
where
    S: Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    let history = History::default();
    let (runtime, recorded) = (network.runtime().clone(), history.clone());
    let tasks = runtime.clone();
    std::mem::forget(runtime.spawn(async move {
        while let Some(accepted) = incoming.next().await {
            let Ok(connection) = accepted else { continue };
            let number = {
                let mut history = recorded.lock().unwrap();
                history.push(Vec::new());
                history.len() - 1
            };
            let recorded = recorded.clone();
            std::mem::forget(tasks.spawn(async move {
                while let Ok(message) = connection.recv().await {
                    recorded.lock().unwrap()[number].push(message.clone());
                    if connection.send(message).await.is_err() {
                        break;
                    }
                }
            }));
        }
    }));
    history
}

pub(crate) async fn serve<S>(network: &Network, stack: S, settings: Settings) -> History
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    record(network, stack.listen_with(server(network), server_addr(), settings).await.unwrap())
}

macro_rules! over {
    ($bottom:expr) => {
        make_stack!(Serialize::<String>::new(), $bottom)
    };
}

/// A client of either stack.
pub(crate) async fn connect(
    network: &Network,
    cache: &EarlyCache,
    settings: Settings,
) -> Result<Early<impl Connection<Data = String>>, Error> {
    over!(select!(A, B)).connect_early_with(client(network), server_addr(), cache, settings).await
}

/// A cache that knows what a server with this stack agreed to, which is gone then.
pub(crate) async fn learn<S>(network: &Network, stack: S, settings: [Settings; 2]) -> EarlyCache
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
{
    let [at_client, at_server] = settings;
    let cache = EarlyCache::new();
    serve(network, stack, at_server).await;
    let first = connect(network, &cache, at_client).await.unwrap();
    assert!(matches!(first.explain().unwrap().zero_rtt(), Some(ZeroRtt::NotTried(_))));
    assert_eq!(cache.len(), 1);
    first.close().await.unwrap();
    network.restart(SERVER);
    cache
}

fn defaults() -> [Settings; 2] {
    [Settings::default(), Settings::default()]
}

async fn say(connection: &impl Connection<Data = String>, messages: &[&str]) {
    for message in messages {
        connection.send((*message).to_owned()).await.unwrap();
    }
}

async fn hear(connection: &impl Connection<Data = String>, messages: &[&str]) {
    for message in messages {
        assert_eq!(connection.recv().await.unwrap(), *message);
    }
}

async fn pause(network: &Network, time: Duration) {
    let runtime = network.runtime();
    runtime.sleep_until(runtime.now() + time).await;
}

fn heard(history: &History) -> Vec<Vec<String>> {
    history.lock().unwrap().clone()
}

/// Also for the server after a restart, since it needs to remember nothing.
#[test]
fn the_server_receives_the_request_with_the_first_datagram() {
    simulate(1, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let history = serve(&network, over!(select!(A, B)), Settings::default()).await;
        let kinds = Arc::new(Mutex::new(Vec::new()));
        let seen = kinds.clone();
        network.tap(move |datagram| {
            seen.lock().unwrap().push(datagram.payload[0]);
            Verdict::Pass
        });
        let before = network.runtime().now();
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        assert!(connection.explain().is_none());
        say(&connection, &["one"]).await;
        assert_eq!(network.runtime().now(), before, "nothing has to be waited for");
        hear(&connection, &["one"]).await;
        assert_eq!((network.runtime().now() - before).as_micros(), 200, "one round trip in all");
        let expected = [Kind::Early as u8, Kind::Answer as u8, Kind::Data as u8];
        assert_eq!(*kinds.lock().unwrap(), expected);
        let explained = connection.explain().unwrap();
        assert_eq!(explained.zero_rtt(), Some(&ZeroRtt::Taken(1)));
        assert!(explained.to_string().ends_with("; 0-RTT: messages taken with the offer: 1"), "{explained}");
        say(&connection, &["two", "three"]).await;
        hear(&connection, &["two", "three"]).await;
        assert_eq!(heard(&history), [["one", "two", "three"]]);
        assert_eq!(connection.dropped(), 0);
        connection.close().await.unwrap();
    });
}

#[test]
fn a_server_that_picks_another_stack_gets_all_messages_once_and_in_order() {
    simulate(2, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let history = serve(&network, over!(B), Settings::default()).await;
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&connection, &["one", "two", "three"]).await;
        hear(&connection, &["one", "two", "three"]).await;
        say(&connection, &["four"]).await;
        hear(&connection, &["four"]).await;
        assert_eq!(heard(&history), [["one", "two", "three", "four"]]);
        let explained = connection.explain().unwrap();
        assert_eq!(explained.zero_rtt(), Some(&ZeroRtt::Resent(3)));
        assert!(explained.to_string().starts_with("Serialize"), "{explained}");
        connection.close().await.unwrap();
        // It has learned.
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&connection, &["five"]).await;
        hear(&connection, &["five"]).await;
        assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::Taken(1)));
    });
}

#[test]
fn who_waits_in_recv_is_woken_over_the_other_stack() {
    simulate(3, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let _history = serve(&network, over!(B), Settings::default()).await;
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        let sending = async {
            pause(&network, Duration::from_secs(1)).await;
            say(&connection, &["late"]).await;
        };
        futures_util::join!(hear(&connection, &["late"]), sending);
        assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::Resent(0)));
    });
}

/// What the server has not taken with the offer follows as data.
#[test]
fn more_messages_than_fit_wait_and_follow() {
    for room in [300, 8000] {
        simulate(4, async |network: Network| {
            network.set_link(bertha_datapath_sim::Link { mtu: room, ..bertha_datapath_sim::Link::default() });
            for stay in [true, false] {
                let cache = learn(&network, over!(select!(A, B)), defaults()).await;
                let history = match stay {
                    true => serve(&network, over!(select!(A, B)), Settings::default()).await,
                    false => serve(&network, over!(B), Settings::default()).await,
                };
                let connection = connect(&network, &cache, Settings::default()).await.unwrap();
                let messages: Vec<String> =
                    (0..100).map(|number| format!("message number {number}")).collect();
                for message in &messages {
                    connection.send(message.clone()).await.unwrap();
                }
                connection.close().await.unwrap();
                assert_eq!(heard(&history), [messages], "{room} {stay}");
                network.restart(SERVER);
            }
        });
    }
}

#[test]
fn a_burst_goes_with_the_offer() {
    simulate(5, async |network: Network| {
        let (stack, cache) = (|| make_stack!(Serialize::<String>::new()), EarlyCache::new());
        let history = serve(&network, stack(), Settings::default()).await;
        let first = stack().connect_early(client(&network), server_addr(), &cache).await.unwrap();
        let why = ZeroRtt::NotTried("no agreement with this server is known");
        assert_eq!(first.explain().unwrap().zero_rtt(), Some(&why));
        first.close().await.unwrap();
        let connection = stack().connect_early(client(&network), server_addr(), &cache).await.unwrap();
        let messages: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        connection.send_batch(messages.clone().into_iter()).await.unwrap();
        connection.close().await.unwrap();
        assert_eq!(heard(&history), [vec![], messages]);
        assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::Taken(16)));
    });
}

#[test]
fn without_messages_the_offer_goes_out_alone() {
    simulate(6, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let history = serve(&network, over!(select!(A, B)), Settings::default()).await;
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        pause(&network, Duration::from_micros(1100)).await;
        // Too late for the first flight, too early for the answer.
        say(&connection, &["one"]).await;
        hear(&connection, &["one"]).await;
        assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::NotTaken));
        assert_eq!(heard(&history), [["one"]]);
    });
}

#[test]
fn a_server_can_refuse_to_take_anything_early() {
    simulate(7, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let none_early = || with(|settings| settings.early_data = false);
        let history = serve(&network, over!(select!(A, B)), none_early()).await;
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&connection, &["one", "two"]).await;
        hear(&connection, &["one", "two"]).await;
        assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::NotTaken));
        assert_eq!(heard(&history), [["one", "two"]]);
    });
}

/// As `A`, and each message counts.
#[derive(Debug, Clone, Identity)]
#[chunnel(no_early_data, capability = like_a)]
pub(crate) struct Once;

#[derive(Debug, bertha_core::Capability, serde::Serialize, serde::Deserialize, PartialEq)]
#[capability(exact)]
struct Marked;

fn like_a(_: &Once) -> Marked {
    Marked
}

/// The counterpart, which does not mind.
#[derive(Debug, Clone, Identity)]
#[chunnel(capability = not_like_a)]
pub(crate) struct Often;

fn not_like_a(_: &Often) -> Marked {
    Marked
}

macro_rules! transparent {
    ($($name:ident),*) => {$(
        impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for $name {
            type Connection = Inner;

            async fn connect_wrap(&self, inner: Inner, _: More<'_, Inner>) -> Result<Inner, Error> {
                Ok(inner)
            }
        }
    )*};
}

transparent!(Once, Often);

#[test]
fn a_chunnel_that_is_not_idempotent_gets_no_early_message() {
    simulate(8, async |network: Network| {
        let cache = EarlyCache::new();
        let history = serve(&network, over!(Once), Settings::default()).await;
        for round in 0..3 {
            let stack = over!(Often);
            let connection = stack.connect_early(client(&network), server_addr(), &cache).await.unwrap();
            say(&connection, &["one"]).await;
            hear(&connection, &["one"]).await;
            if round > 0 {
                assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::NotTaken));
            }
            connection.close().await.unwrap();
        }
        assert_eq!(heard(&history), [["one"], ["one"], ["one"]]);
        // On the client it keeps the first flight from being tried.
        for _ in 0..2 {
            let stack = over!(Once);
            let connection = stack.connect_early(client(&network), server_addr(), &cache).await.unwrap();
            assert!(matches!(connection.explain().unwrap().zero_rtt(), Some(ZeroRtt::NotTried(_))));
            connection.close().await.unwrap();
        }
    });
}

fn credentials() -> Vec<(Credentials, Credentials, bool)> {
    let key = IdentityKey::from_seed([1; 32]);
    let shared = Credentials::shared(SharedKey::new([1; 32]));
    let identity = Credentials::default().identity(key.clone());
    vec![
        (shared.clone(), shared.clone(), true),
        (shared.clone().trusting([key.public()]), shared.identity(key.clone()), true),
        (Credentials::default().trusting([key.public()]), identity, false),
    ]
}

#[test]
fn with_credentials() {
    for (number, (at_client, at_server, is_early)) in credentials().into_iter().enumerate() {
        simulate(number as u64, async |network: Network| {
            let settings = || {
                [at_client.clone(), at_server.clone()].map(|it| with(|settings| settings.credentials = it))
            };
            let cache = learn(&network, over!(select!(A, B)), settings()).await;
            let [ours, theirs] = settings();
            let history = serve(&network, over!(select!(A, B)), theirs).await;
            let before = network.runtime().now();
            let connection = connect(&network, &cache, ours).await.unwrap();
            say(&connection, &["one", "two"]).await;
            hear(&connection, &["one", "two"]).await;
            let agreement = connection.explain().unwrap();
            assert!(agreement.is_authenticated());
            if is_early {
                assert_eq!(agreement.zero_rtt(), Some(&ZeroRtt::Taken(1)));
                assert!((network.runtime().now() - before).as_micros() <= 400);
            } else {
                assert!(matches!(agreement.zero_rtt(), Some(ZeroRtt::NotTried(_))), "{agreement}");
            }
            assert_eq!((connection.forged(), connection.dropped()), (0, 0));
            connection.close().await.unwrap();
            assert_eq!(heard(&history), [["one", "two"]]);
        });
    }
}

/// Somebody on the wire changes the messages, and puts the check right.
#[test]
fn with_a_shared_key_a_first_flight_can_not_be_altered() {
    let shared = || Credentials::shared(SharedKey::new([1; 32]));
    for (is_authenticated, heard_is) in [(true, "one"), (false, "0ne")] {
        simulate(1, async |network: Network| {
            let settings = || {
                with(|settings| {
                    settings.credentials = if is_authenticated { shared() } else { Credentials::default() };
                })
            };
            let cache = learn(&network, over!(select!(A, B)), [settings(), settings()]).await;
            let history = serve(&network, over!(select!(A, B)), settings()).await;
            network.tap(|datagram| {
                if datagram.payload[0] == Kind::Early as u8 {
                    let at = datagram.payload.windows(3).position(|it| it == b"one").unwrap();
                    datagram.payload[at] = b'0';
                    let end = datagram.payload.len() - 4;
                    let check = crc32fast::hash(&datagram.payload[..end]);
                    datagram.payload[end..].copy_from_slice(&check.to_le_bytes());
                }
                Verdict::Pass
            });
            let connection = connect(&network, &cache, settings()).await.unwrap();
            say(&connection, &["one"]).await;
            hear(&connection, &[heard_is]).await;
            assert_eq!(heard(&history), [[heard_is]]);
        });
    }
}

#[test]
fn under_load_a_cookie_comes_first_and_then_a_confirmation() {
    for (unproven, kinds) in [(0, vec![12, 9, 12, 2, 0]), (1, vec![12, 2, 8, 0])] {
        simulate(9, async |network: Network| {
            let busy = || with(|settings| settings.unproven_clients = unproven);
            let cache = learn(&network, over!(select!(A, B)), [Settings::default(), busy()]).await;
            let history = serve(&network, over!(select!(A, B)), busy()).await;
            let seen = Arc::new(Mutex::new(Vec::new()));
            let see = seen.clone();
            network.tap(move |datagram| {
                see.lock().unwrap().push(datagram.payload[0]);
                Verdict::Pass
            });
            let connection = connect(&network, &cache, Settings::default()).await.unwrap();
            say(&connection, &["one"]).await;
            hear(&connection, &["one"]).await;
            assert_eq!(*seen.lock().unwrap(), kinds);
            assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::Taken(1)));
            assert_eq!(heard(&history), [["one"]]);
        });
    }
}

#[test]
fn a_refusal_and_silence_say_that_messages_are_in_doubt() {
    simulate(10, async |network: Network| {
        network.answer_closed_ports(false);
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let silent = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&silent, &["one", "two"]).await;
        let error = silent.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("not known to be accepted: 2 messages"), "{error}");
        assert_eq!(silent.send("three".into()).await.unwrap_err().kind(), ErrorKind::TimedOut);

        let _history = serve(&network, make_stack!(Serialize::<String>::new()), Settings::default()).await;
        let refused = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&refused, &["one"]).await;
        let error = refused.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("not known to be accepted: 1 messages"), "{error}");
    });
}

#[test]
fn a_cache_is_saved_and_a_damaged_one_is_an_error() {
    simulate(11, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let path = std::env::temp_dir().join(format!("bertha-early-{}", std::process::id()));
        cache.save(&path).unwrap();
        let loaded = EarlyCache::load(&path).unwrap();
        assert_eq!(loaded.len(), 1);
        let _history = serve(&network, over!(select!(A, B)), Settings::default()).await;
        let connection = connect(&network, &loaded, Settings::default()).await.unwrap();
        say(&connection, &["one"]).await;
        connection.agreed().await.unwrap();
        assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::Taken(1)));

        let mut bytes = std::fs::read(&path).unwrap();
        bytes[3] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(EarlyCache::load(&path).unwrap_err().kind(), ErrorKind::Malformed);
        std::fs::remove_file(&path).unwrap();
        assert!(EarlyCache::load(&path).is_err());
    });
}

/// A whole first flight that somebody has recorded: at once, after the connection has ended, and from another address.
#[test]
fn a_first_flight_is_taken_once() {
    simulate(12, async |network: Network| {
        network.answer_closed_ports(false);
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let history = serve(&network, over!(select!(A, B)), Settings::default()).await;
        let flight = Arc::new(Mutex::new(None::<Datagram>));
        let seen = flight.clone();
        network.tap(move |datagram| {
            if datagram.payload[0] == Kind::Early as u8 {
                seen.lock().unwrap().get_or_insert(datagram.clone());
            }
            Verdict::Pass
        });
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&connection, &["one"]).await;
        hear(&connection, &["one"]).await;
        let flight = flight.lock().unwrap().clone().unwrap();
        network.inject(&flight).unwrap();
        pause(&network, Duration::from_millis(10)).await;
        connection.close().await.unwrap();
        for port in [flight.from.port(), 7] {
            let mut again = flight.clone();
            again.from.set_port(port);
            network.inject(&again).unwrap();
            pause(&network, Duration::from_secs(5)).await;
        }
        assert_eq!(heard(&history), [["one"]]);
    });
}

/// A server whose application takes a request and is done, while its answer is lost.
#[test]
fn a_request_whose_connection_is_gone_is_not_sent_again() {
    simulate(13, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let mut incoming = over!(select!(A, B)).listen(server(&network), server_addr()).await.unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (runtime, received) = (network.runtime().clone(), requests.clone());
        std::mem::forget(runtime.spawn(async move {
            while let Some(Ok(connection)) = incoming.next().await {
                let request = connection.recv().await.unwrap();
                received.lock().unwrap().push(request);
            }
        }));
        network.cut_one_way(SERVER, CLIENT);
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&connection, &["one"]).await;
        pause(&network, Duration::from_millis(50)).await;
        network.heal_all();
        let error = connection.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Reset);
        assert!(error.to_string().contains("1 messages"), "{error}");
        assert_eq!(*requests.lock().unwrap(), ["one"]);
    });
}

/// A claim that the server does not share, for whatever reason, is no claim.
#[test]
fn a_forged_claim_is_of_no_use() {
    simulate(14, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let history = serve(&network, over!(select!(A, B)), Settings::default()).await;
        network.tap(|datagram| {
            if datagram.payload[0] == Kind::Early as u8 {
                let len = usize::from(u16::from_le_bytes([datagram.payload[5], datagram.payload[6]]));
                datagram.payload[7 + len] ^= 1;
                let end = datagram.payload.len() - 4;
                let check = crc32fast::hash(&datagram.payload[..end]);
                datagram.payload[end..].copy_from_slice(&check.to_le_bytes());
                assert!(wire::offer_in(&datagram.payload).is_some());
            }
            Verdict::Pass
        });
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&connection, &["one", "two"]).await;
        hear(&connection, &["one", "two"]).await;
        assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&ZeroRtt::NotTaken));
        assert_eq!(heard(&history), [["one", "two"]]);
    });
}

/// Greets its counterpart while it is built, and waits for the reply.
#[derive(Debug, Clone, Identity)]
struct Greet;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Greet {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, more: More<'_, Inner>) -> Result<Inner, Error> {
        if more.role() == Role::Client {
            inner.send(bytes(b"hello")).await?;
            assert_eq!(*inner.recv().await?, *b"welcome");
        } else {
            assert_eq!(*inner.recv().await?, *b"hello");
            inner.send(bytes(b"welcome")).await?;
        }
        Ok(inner)
    }
}

#[test]
fn a_chunnel_talks_to_its_counterpart_while_it_is_built() {
    for (seed, became) in [(15, ZeroRtt::Taken(1)), (16, ZeroRtt::Resent(0))] {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(Serialize::<String>::new(), Greet, select!(A, B));
            let cache = EarlyCache::new();
            serve(&network, stack(), Settings::default()).await;
            let first = stack().connect_early(client(&network), server_addr(), &cache).await.unwrap();
            first.close().await.unwrap();
            network.restart(SERVER);
            let history = match became {
                ZeroRtt::Taken(_) => serve(&network, stack(), Settings::default()).await,
                _ => {
                    let other = make_stack!(Serialize::<String>::new(), Greet, B);
                    serve(&network, other, Settings::default()).await
                }
            };
            let connection = stack().connect_early(client(&network), server_addr(), &cache).await.unwrap();
            say(&connection, &["one"]).await;
            hear(&connection, &["one"]).await;
            assert_eq!(connection.explain().unwrap().zero_rtt(), Some(&became));
            assert_eq!(heard(&history), [["one"]]);
        });
    }
}

/// Whoever drops the connection before there is an answer leaves nothing behind that speaks for it.
#[test]
fn a_dropped_connection_is_silent() {
    simulate(17, async |network: Network| {
        network.answer_closed_ports(false);
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let connection = connect(&network, &cache, Settings::default()).await.unwrap();
        say(&connection, &["one"]).await;
        drop(connection);
        let spoken = Arc::new(Mutex::new(0));
        let count = spoken.clone();
        network.tap(move |_| {
            *count.lock().unwrap() += 1;
            Verdict::Pass
        });
        pause(&network, Duration::from_secs(20)).await;
        assert_eq!(*spoken.lock().unwrap(), 0);
    });
}
