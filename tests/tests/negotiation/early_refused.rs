//! Messages that a server does not accept early, or does not accept twice, and the client's reports of the
//! refusal.

use crate::early_scene::{
    connect, defaults, hear, heard, known, learn, learn_at, open, over, pause, say, serve, with,
};
use crate::scene::{A, B, CLIENT, SERVER, client, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, Runtime, make_stack,
    select,
};
use bertha_datapath_sim::{Datagram, Network, Verdict};
use bertha_negotiation::testing::wire::{self, HEADER, Kind};
use bertha_negotiation::{Credentials, EarlyCache, Negotiate, SharedKey, ZeroRtt};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn a_server_can_refuse_to_take_anything_early() {
    simulate(7, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let none_early = || with(|settings| settings.early_data = false);
        let history = serve(&network, over!(select!(A, B)), none_early()).await;
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one", "two"]).await;
        hear(&connection, &["one", "two"]).await;
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::NotTaken));
        assert_eq!(heard(&history), [["one", "two"]]);
    });
}

/// A Chunnel that passes messages on, and whose messages must not be replayed.
#[derive(Debug, Clone, Identity)]
#[chunnel(no_early_data, capability = like_a)]
pub(crate) struct Once;

#[derive(Debug, bertha_core::Capability, serde::Serialize, serde::Deserialize, PartialEq)]
#[capability(exact)]
struct Marked;

fn like_a(_: &Once) -> Marked {
    Marked
}

/// The counterpart of [`Once`], which permits early data.
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

            async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
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
        let history = serve(&network, over!(Once), open()).await;
        for round in 0..3 {
            let stack = over!(Often);
            let connection = stack.connect(client(&network), server_addr()).early(&cache).await.unwrap();
            say(&connection, &["one"]).await;
            hear(&connection, &["one"]).await;
            let zero_rtt = connection.explain().zero_rtt().cloned();
            assert!(matches!(zero_rtt, Some(ZeroRtt::NotTried(_))), "round {round}: it gives no tickets");
            connection.close().await.unwrap();
        }
        assert_eq!(heard(&history), [["one"], ["one"], ["one"]]);
        // A client with `Once` does not try a first flight.
        for _ in 0..2 {
            let stack = over!(Once);
            let connection = stack.connect(client(&network), server_addr()).early(&cache).await.unwrap();
            assert!(matches!(connection.explain().zero_rtt(), Some(ZeroRtt::NotTried(_))));
            connection.close().await.unwrap();
        }
    });
}

/// An attacker on the wire changes the messages, and corrects their checksum.
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
            let (cache, history) = known(&network, over!(select!(A, B)), [settings(), settings()]).await;
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
fn a_refusal_and_silence_say_that_messages_are_in_doubt() {
    simulate(10, async |network: Network| {
        network.answer_closed_ports(false);
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let silent = connect(&network, &cache, open()).await.unwrap();
        say(&silent, &["one", "two"]).await;
        let error = silent.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("not known to be accepted: 2 messages"), "{error}");
        assert_eq!(silent.send("three".into()).await.unwrap_err().kind(), ErrorKind::TimedOut);

        let _history = serve(&network, make_stack!(Serialize::<String>::new()), open()).await;
        let refused = connect(&network, &cache, open()).await.unwrap();
        say(&refused, &["one"]).await;
        let error = refused.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("not known to be accepted: 1 messages"), "{error}");
    });
}

/// An attacker replays a whole first flight: at once, after the connection has ended, and from another
/// address.
#[test]
fn a_first_flight_is_taken_once() {
    simulate(12, async |network: Network| {
        network.answer_closed_ports(false);
        let (cache, history) = known(&network, over!(select!(A, B)), defaults()).await;
        let flight = Arc::new(Mutex::new(None::<Datagram>));
        let seen = flight.clone();
        network.tap(move |datagram| {
            if datagram.payload[0] == Kind::Early as u8 {
                seen.lock().unwrap().get_or_insert(datagram.clone());
            }
            Verdict::Pass
        });
        let connection = connect(&network, &cache, open()).await.unwrap();
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

/// The server's application takes a request and ends, while the server's answer is lost.
#[test]
fn a_request_whose_connection_is_gone_is_not_sent_again() {
    simulate(13, async |network: Network| {
        let listening = over!(select!(A, B)).listen(server(&network), server_addr()).settings(open());
        let mut incoming = listening.await.unwrap();
        let cache = learn_at(&network, &mut incoming, open()).await;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (runtime, received) = (network.runtime().clone(), requests.clone());
        std::mem::forget(runtime.spawn(async move {
            while let Some(connection) = incoming.next().await {
                let request = connection.recv().await.unwrap();
                received.lock().unwrap().push(request);
            }
        }));
        network.cut_one_way(SERVER, CLIENT);
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one"]).await;
        pause(&network, Duration::from_millis(50)).await;
        network.heal_all();
        let error = connection.recv().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Reset);
        assert!(error.to_string().contains("1 messages"), "{error}");
        assert_eq!(*requests.lock().unwrap(), ["one"]);
    });
}

/// The server ignores a claim about the agreement that differs from its own.
#[test]
fn a_forged_claim_is_of_no_use() {
    simulate(14, async |network: Network| {
        let (cache, history) = known(&network, over!(select!(A, B)), defaults()).await;
        network.tap(|datagram| {
            if datagram.payload[0] == Kind::Early as u8 {
                let version = HEADER;
                let len = [datagram.payload[version + 1], datagram.payload[version + 2]];
                let claim = version + 3 + usize::from(u16::from_le_bytes(len));
                datagram.payload[claim] ^= 1;
                let end = datagram.payload.len() - 4;
                let check = crc32fast::hash(&datagram.payload[..end]);
                datagram.payload[end..].copy_from_slice(&check.to_le_bytes());
                assert!(wire::offer_in(&datagram.payload).is_some());
            }
            Verdict::Pass
        });
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one", "two"]).await;
        hear(&connection, &["one", "two"]).await;
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::NotTaken));
        assert_eq!(heard(&history), [["one", "two"]]);
    });
}

/// A connection that is dropped before the answer leaves no task behind that sends for it.
#[test]
fn a_dropped_connection_is_silent() {
    simulate(17, async |network: Network| {
        network.answer_closed_ports(false);
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let connection = connect(&network, &cache, open()).await.unwrap();
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

/// Starts on the client only while the flag is true.
#[derive(Debug, Clone, Identity)]
struct Fickle(Arc<AtomicBool>);

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Fickle {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        match context.role() == Role::Server || self.0.load(Ordering::Relaxed) {
            true => Ok(inner),
            false => Err(Error::new(ErrorKind::Exhausted, "no licence left").at("Fickle")),
        }
    }
}

#[test]
fn a_stack_that_does_not_start_before_the_answer_is_an_error_at_the_server() {
    simulate(21, async |network: Network| {
        let (starts, cache) = (Arc::new(AtomicBool::new(true)), EarlyCache::new());
        let stack = || over!(Fickle(starts.clone()));
        let mut incoming = stack().listen(server(&network), server_addr()).await.unwrap();
        let connecting = stack().connect(client(&network), server_addr()).early(&cache);
        let (first, _served) = futures_util::join!(connecting.into_future(), incoming.next_or_refusal());
        first.unwrap().close().await.unwrap();

        starts.store(false, Ordering::Relaxed);
        let connecting = stack().connect(client(&network), server_addr()).early(&cache);
        let serving = async { incoming.next().await.unwrap().recv().await.unwrap_err() };
        let (connected, at_server) = futures_util::join!(connecting.into_future(), serving);
        assert_eq!(connected.err().unwrap().kind(), ErrorKind::Exhausted);
        assert_eq!(at_server.kind(), ErrorKind::Refused);
        assert!(at_server.to_string().contains("Fickle: exhausted: no licence left"), "{at_server}");
    });
}
