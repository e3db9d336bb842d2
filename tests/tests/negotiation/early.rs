//! Connections that are used before the server has answered.

use crate::early_scene::{connect, defaults, hear, heard, known, learn, open, over, pause, say, serve, with};
use crate::scene::{A, B, SERVER, bytes, client, server_addr, simulate, simulate_in_order};
use bertha_chunnels::Serialize;
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, Runtime, make_stack,
    select,
};
use bertha_datapath_sim::{Network, Verdict};
use bertha_negotiation::testing::wire::Kind;
use bertha_negotiation::{Credentials, EarlyCache, IdentityKey, Negotiate, SharedKey, ZeroRtt};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn the_server_receives_the_request_with_the_first_datagram() {
    simulate_in_order(1, async |network: Network| {
        let (cache, history) = known(&network, over!(select!(A, B)), defaults()).await;
        let kinds = Arc::new(Mutex::new(Vec::new()));
        let seen = kinds.clone();
        network.tap(move |datagram| {
            seen.lock().unwrap().push(datagram.payload[0]);
            Verdict::Pass
        });
        let before = network.runtime().now();
        let connection = connect(&network, &cache, open()).await.unwrap();
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Unanswered));
        say(&connection, &["one"]).await;
        assert_eq!(network.runtime().now(), before, "nothing has to be waited for");
        hear(&connection, &["one"]).await;
        assert_eq!((network.runtime().now() - before).as_micros(), 200, "one round trip in all");
        let expected = [Kind::Early, Kind::AnswerAndData, Kind::Confirm].map(|kind| kind as u8);
        assert_eq!(*kinds.lock().unwrap(), expected);
        let explained = connection.explain();
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
        let history = serve(&network, over!(B), open()).await;
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one", "two", "three"]).await;
        hear(&connection, &["one", "two", "three"]).await;
        say(&connection, &["four"]).await;
        hear(&connection, &["four"]).await;
        assert_eq!(heard(&history), [["one", "two", "three", "four"]]);
        let explained = connection.explain();
        assert_eq!(explained.zero_rtt(), Some(&ZeroRtt::Resent(3)));
        assert!(explained.to_string().starts_with("Serialize"), "{explained}");
        connection.close().await.unwrap();
        // The client has learned the server's stack.
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["five"]).await;
        hear(&connection, &["five"]).await;
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Taken(1)));
    });
}

#[test]
fn who_waits_in_recv_is_woken_over_the_other_stack() {
    simulate(3, async |network: Network| {
        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
        let _history = serve(&network, over!(B), open()).await;
        let connection = connect(&network, &cache, open()).await.unwrap();
        let sending = async {
            pause(&network, Duration::from_secs(1)).await;
            say(&connection, &["late"]).await;
        };
        futures_util::join!(hear(&connection, &["late"]), sending);
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Resent(0)));
    });
}

/// Messages that the server has not taken with the offer follow as data.
#[test]
fn more_messages_than_fit_wait_and_follow() {
    for room in [300, 8000] {
        simulate(4, async |network: Network| {
            network.set_link(bertha_datapath_sim::Link { mtu: room, ..bertha_datapath_sim::Link::default() });
            for stay in [true, false] {
                let (cache, history) = match stay {
                    true => known(&network, over!(select!(A, B)), defaults()).await,
                    false => {
                        let cache = learn(&network, over!(select!(A, B)), defaults()).await;
                        (cache, serve(&network, over!(B), open()).await)
                    }
                };
                let connection = connect(&network, &cache, open()).await.unwrap();
                let messages: Vec<String> =
                    (0..100).map(|number| format!("message number {number}")).collect();
                for message in &messages {
                    connection.send(message.clone()).await.unwrap();
                }
                connection.close().await.unwrap();
                pause(&network, Duration::from_millis(1)).await;
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
        let history = serve(&network, stack(), open()).await;
        let first = stack().connect(client(&network), server_addr()).early(&cache).await.unwrap();
        let why = ZeroRtt::NotTried("no agreement with this server is known by which it takes early data");
        assert_eq!(first.explain().zero_rtt(), Some(&why));
        first.close().await.unwrap();
        let connection = stack().connect(client(&network), server_addr()).early(&cache).await.unwrap();
        let messages: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        connection.send_batch(messages.clone().into_iter()).await.unwrap();
        connection.close().await.unwrap();
        pause(&network, Duration::from_millis(1)).await;
        assert_eq!(heard(&history), [vec![], messages]);
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Taken(16)));
    });
}

#[test]
fn without_messages_the_offer_goes_out_alone() {
    simulate(6, async |network: Network| {
        let (cache, history) = known(&network, over!(select!(A, B)), defaults()).await;
        let connection = connect(&network, &cache, open()).await.unwrap();
        pause(&network, Duration::from_micros(1100)).await;
        // The message is too late for the first flight, and too early for the answer.
        say(&connection, &["one"]).await;
        hear(&connection, &["one"]).await;
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::NotTaken));
        assert_eq!(heard(&history), [["one"]]);
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
            let [ours, _] = settings();
            let (cache, history) = match is_early {
                true => known(&network, over!(select!(A, B)), settings()).await,
                false => {
                    (EarlyCache::new(), serve(&network, over!(select!(A, B)), settings()[1].clone()).await)
                }
            };
            let before = network.runtime().now();
            let connection = connect(&network, &cache, ours).await.unwrap();
            say(&connection, &["one", "two"]).await;
            hear(&connection, &["one", "two"]).await;
            let agreement = connection.explain();
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

#[test]
fn under_load_a_cookie_comes_first_and_then_a_confirmation() {
    for (unvalidated, kinds) in [(0, vec![12, 9, 12, 15]), (1, vec![12, 2, 8, 0])] {
        simulate(9, async |network: Network| {
            let busy = || with(|settings| settings.unvalidated_clients = unvalidated);
            let (cache, history) = known(&network, over!(select!(A, B)), [open(), busy()]).await;
            let seen = Arc::new(Mutex::new(Vec::new()));
            let see = seen.clone();
            network.tap(move |datagram| {
                see.lock().unwrap().push(datagram.payload[0]);
                Verdict::Pass
            });
            let before = network.runtime().now();
            let connection = connect(&network, &cache, open()).await.unwrap();
            say(&connection, &["one"]).await;
            hear(&connection, &["one"]).await;
            assert_eq!((network.runtime().now() - before).as_micros(), 400, "two round trips");
            assert_eq!(*seen.lock().unwrap(), kinds);
            assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Taken(1)));
            assert_eq!(heard(&history), [["one"]]);
        });
    }
}

#[test]
fn a_cache_is_saved_and_a_damaged_one_is_an_error() {
    simulate(11, async |network: Network| {
        let (cache, _history) = known(&network, over!(select!(A, B)), defaults()).await;
        let path = std::env::temp_dir().join(format!("bertha-early-{}", std::process::id()));
        cache.save(&path).unwrap();
        let loaded = EarlyCache::load(&path).unwrap();
        assert_eq!(loaded.len(), 1);
        let connection = connect(&network, &loaded, open()).await.unwrap();
        say(&connection, &["one"]).await;
        connection.agreed().await.unwrap();
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Taken(1)));

        let mut bytes = std::fs::read(&path).unwrap();
        bytes[3] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(EarlyCache::load(&path).unwrap_err().kind(), ErrorKind::Malformed);
        std::fs::remove_file(&path).unwrap();
        assert!(EarlyCache::load(&path).is_err());
    });
}

/// Greets its counterpart while it is built, and waits for the reply.
#[derive(Debug, Clone, Identity)]
struct Greet;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Greet {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, context: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        if context.role() == Role::Client {
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
            let history = serve(&network, stack(), open()).await;
            let first = stack().connect(client(&network), server_addr()).early(&cache).await.unwrap();
            first.close().await.unwrap();
            pause(&network, Duration::from_millis(1)).await;
            history.lock().unwrap().clear();
            let history = match became {
                ZeroRtt::Taken(_) => history,
                _ => {
                    network.restart(SERVER);
                    let other = make_stack!(Serialize::<String>::new(), Greet, B);
                    serve(&network, other, open()).await
                }
            };
            let connection = stack().connect(client(&network), server_addr()).early(&cache).await.unwrap();
            say(&connection, &["one"]).await;
            hear(&connection, &["one"]).await;
            assert_eq!(connection.explain().zero_rtt(), Some(&became));
            assert_eq!(heard(&history), [["one"]]);
        });
    }
}
