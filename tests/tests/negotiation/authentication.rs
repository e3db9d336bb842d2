//! Ends that prove their identity.

use crate::scene::{A, B, CLIENT, SERVER, bytes, client, echo, server, server_addr, simulate};
use bertha_core::{Buf, Connection, Error, ErrorKind, PeerIdentity, Role, Runtime, make_stack};
use bertha_datapath_sim::{Datagram, Link, Network, Verdict};
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Negotiated, Settings, SharedKey};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn with(credentials: Credentials) -> Settings {
    let mut settings = Settings::default();
    settings.credentials = credentials;
    settings
}

fn shared(byte: u8) -> Credentials {
    Credentials::shared(SharedKey::new([byte; 32]))
}

fn identity(byte: u8) -> IdentityKey {
    IdentityKey::from_seed([byte; 32])
}

/// Returns pairs of credentials, of a client and a server, that go together.
fn matching() -> Vec<(Credentials, Credentials)> {
    let (ours, theirs) = (identity(1), identity(2));
    let pinning = Credentials::default().trusting([identity(9).public(), theirs.public()]);
    let signing = Credentials::default().identity(theirs.clone());
    vec![
        (Credentials::default(), Credentials::default()),
        (shared(1), shared(1)),
        (pinning.clone(), signing.clone()),
        (pinning.clone().identity(ours.clone()), signing.clone().trusting([ours.public()])),
        (shared(1).trusting([theirs.public()]), shared(1).identity(theirs.clone())),
        (shared(1).identity(ours.clone()), shared(1).trusting([ours.public()])),
        (shared(1), shared(1).identity(theirs)),
    ]
}

/// Returns both ends of a connection.
async fn pair(
    network: &Network,
    (at_client, at_server): (Credentials, Credentials),
) -> (Negotiated<impl Connection<Data = Buf>>, Negotiated<impl Connection<Data = Buf>>) {
    let listening = make_stack!(bertha_core::select!(A, B))
        .listen(server(network), server_addr())
        .settings(with(at_server));
    let mut incoming = listening.await.unwrap();
    let stack = make_stack!(bertha_core::select!(A, B));
    let connecting = stack.connect(client(network), server_addr()).settings(with(at_client));
    let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connecting.into_future());
    (connected.unwrap(), served.unwrap().unwrap())
}

#[test]
fn both_ends_have_one_transcript_and_it_differs_each_time() {
    let mut seen = Vec::new();
    for (seed, credentials) in matching().into_iter().enumerate() {
        let is_authenticated = credentials.0.is_some();
        simulate(seed as u64, async |network: Network| {
            let (client, server) = pair(&network, credentials).await;
            let transcript = client.explain().transcript();
            assert_eq!(transcript, server.explain().transcript());
            assert!(!seen.contains(&transcript));
            seen.push(transcript);
            for end in [client.explain(), server.explain()] {
                assert_eq!(end.is_authenticated(), is_authenticated, "{seed}");
            }
            client.send(bytes(b"hello")).await.unwrap();
            assert_eq!(*server.recv().await.unwrap(), *b"hello");
            assert_eq!((client.forged(), server.forged()), (0, 0), "{seed}");
        });
    }
}

#[test]
fn an_identity_that_was_asked_for_is_told() {
    let key = |number| PeerIdentity::Key(*identity(number).public().as_bytes());
    simulate(1, async |network: Network| {
        let (client, server) = pair(&network, matching().swap_remove(3)).await;
        assert_eq!(client.explain().peer(), Some(key(2)));
        assert_eq!(server.explain().peer(), Some(key(1)));
    });
}

/// Connects a client with one Chunnel.
async fn connect(
    network: &Network,
    credentials: Credentials,
) -> Result<Negotiated<impl Connection<Data = Buf>>, Error> {
    make_stack!(A).connect(client(network), server_addr()).settings(with(credentials)).await
}

/// Returns the errors of the client and of the server.
fn refusal(at_client: Credentials, at_server: Credentials) -> (Error, Option<Error>) {
    simulate(2, async |network: Network| {
        let listening = make_stack!(A).listen(server(&network), server_addr()).settings(with(at_server));
        let refused = Arc::new(Mutex::new(Vec::new()));
        let report = refused.clone();
        echo(&network, listening.await.unwrap(), move |error| report.lock().unwrap().push(error));
        let connecting = connect(&network, at_client);
        let error = connecting.await.err().expect("a refusal");
        let mut refused = refused.lock().unwrap();
        assert!(refused.len() <= 1, "one client is refused once: {refused:?}");
        (error, refused.pop())
    })
}

#[test]
fn ends_without_or_with_other_keys_refuse_each_other() {
    let (ours, theirs) = (identity(1), identity(2));
    let pinning = Credentials::default().trusting([theirs.public()]);
    let signing = Credentials::default().identity(theirs.clone());
    let misfits = [
        (Credentials::default(), shared(1), "the client has no key"),
        (shared(1), Credentials::default(), "this server has no key"),
        (shared(1), shared(2), "don't have the same shared key"),
        (Credentials::default(), signing.clone(), "the client has no key"),
        (pinning.clone(), Credentials::default(), "this server has no key"),
        (shared(1), signing.clone(), "don't have the same shared key"),
        (pinning.clone(), shared(1), "don't have the same shared key"),
        (pinning.clone(), signing.clone().trusting([ours.public()]), "no identity that this server trusts"),
        (
            pinning.clone().identity(identity(3)),
            signing.clone().trusting([ours.public()]),
            "no identity that this server trusts",
        ),
    ];
    for (at_client, at_server, what) in misfits {
        let (at_client, at_server) = refusal(at_client, at_server);
        let at_server = at_server.expect(what);
        assert_eq!(at_client.kind(), ErrorKind::Unauthenticated, "{at_client}");
        assert_eq!(at_server.kind(), ErrorKind::Unauthenticated, "{at_server}");
        assert!(at_client.to_string().contains(what), "{at_client}");
        assert!(at_server.to_string().contains(what), "{at_server}");
    }
    // The server can't know that the client will refuse its answer.
    let unrecognised = [
        (pinning, Credentials::default().identity(identity(3))),
        (shared(1).trusting([theirs.public()]), shared(1)),
    ];
    for (at_client, at_server) in unrecognised {
        let (at_client, at_server) = refusal(at_client, at_server);
        assert_eq!(at_client.kind(), ErrorKind::Unauthenticated, "{at_client}");
        assert!(at_server.is_none());
    }
}

#[test]
fn a_refusal_that_can_be_believed_is_believed_at_once() {
    for (at_client, at_server) in matching() {
        simulate(3, async |network: Network| {
            let listening = make_stack!(B).listen(server(&network), server_addr()).settings(with(at_server));
            echo(&network, listening.await.unwrap(), |_| {});
            let before = network.runtime().now();
            let connecting = connect(&network, at_client);
            assert_eq!(connecting.await.err().unwrap().kind(), ErrorKind::Refused);
            assert!(network.runtime().now() - before < Duration::from_millis(10));
        });
    }
}

#[test]
fn credentials_that_protect_nobody_are_refused_where_they_are_given() {
    simulate(4, async |network: Network| {
        let lonely = Credentials::default().identity(identity(1));
        let connecting = connect(&network, lonely);
        assert_eq!(connecting.await.err().unwrap().kind(), ErrorKind::Invalid);
        let faceless = Credentials::default().trusting([identity(1).public()]);
        let listening = make_stack!(A).listen(server(&network), server_addr()).settings(with(faceless));
        assert_eq!(listening.await.err().unwrap().kind(), ErrorKind::Invalid);
    });
}

/// An attacker without a key forges every message about a connection.
#[test]
fn what_is_made_up_about_a_connection_is_counted_and_changes_nothing() {
    use bertha_negotiation::testing::wire::{self, Close, Confirm, Kind, Tag};
    simulate(5, async |network: Network| {
        let id = Arc::new(Mutex::new(None));
        let see = id.clone();
        network.tap(move |datagram| {
            if let Some((Kind::Offer, tag)) = wire::header(&datagram.payload) {
                *see.lock().unwrap() = Some((tag, datagram.from));
            }
            Verdict::Pass
        });
        let (client, server) = pair(&network, (shared(1), shared(1))).await;
        let (tag, at_client) = id.lock().unwrap().take().unwrap();
        let at_server = server_addr().ip("test").unwrap();
        let mut made_up = Vec::new();
        for sender in [Role::Client, Role::Server] {
            let bare = [Kind::KeepAlive, Kind::CloseSeen, Kind::Reset];
            made_up.extend(bare.map(|kind| tag.header_from(sender, kind).to_vec()));
            made_up.extend(bare.map(|kind| wire::encode_from(sender, kind, tag, &()).unwrap()));
            let close = Close { id: 1, failure: String::new() };
            made_up.push(wire::encode_from(sender, Kind::Close, tag, &close).unwrap());
            let confirm = Confirm { id: 1, number: 1 };
            made_up.push(wire::encode_from(sender, Kind::Confirm, tag, &confirm).unwrap());
            made_up.push(wire::encode_from(sender, Kind::Reset, tag, &[0u8; 16]).unwrap());
        }
        for payload in made_up {
            network.inject(&Datagram { from: at_client, to: at_server, payload: payload.clone() }).unwrap();
            network.inject(&Datagram { from: at_server, to: at_client, payload }).unwrap();
        }
        assert_ne!(tag, Tag::of(1));
        network.runtime().sleep_until(network.runtime().now() + Duration::from_secs(1)).await;
        say(&client, &server).await;
        say(&server, &client).await;
        assert!(client.forged() >= 3 && server.forged() >= 3, "{} and {}", client.forged(), server.forged());
        // A whole reset of the server, without a proof, asks the client for a keep-alive.
        assert_eq!((client.dropped(), server.dropped()), (17, 18));
    });
}

/// Sends a message from one end to the other, and checks that it arrives.
async fn say(from: &impl Connection<Data = Buf>, to: &impl Connection<Data = Buf>) {
    from.send(bytes(b"still here")).await.unwrap();
    assert_eq!(*to.recv().await.unwrap(), *b"still here");
}

/// An attacker replays a whole earlier connection, to an idle server and to a server in use.
#[test]
fn a_replayed_connection_is_not_accepted() {
    for (seed, credentials) in matching().into_iter().enumerate().skip(1) {
        simulate(seed as u64, async |network: Network| {
            let recorded = Arc::new(Mutex::new(Vec::<Datagram>::new()));
            let record = recorded.clone();
            network.tap(move |datagram| {
                record.lock().unwrap().push(datagram.clone());
                Verdict::Pass
            });
            let (at_client, at_server) = credentials;
            let listening = make_stack!(A).listen(server(&network), server_addr()).settings(with(at_server));
            let accepted = Arc::new(Mutex::new(0));
            let (count, runtime) = (accepted.clone(), network.runtime().clone());
            let mut incoming = listening.await.unwrap();
            std::mem::forget(runtime.clone().spawn(async move {
                while let Some(connection) = incoming.next().await {
                    *count.lock().unwrap() += 1;
                    std::mem::forget(runtime.spawn(async move {
                        while let Ok(message) = connection.recv().await {
                            let _ = connection.send(message).await;
                        }
                    }));
                }
            }));
            let from = client(&network).from_port(5000);
            let connect = || make_stack!(A);
            let first = connect()
                .connect(from.clone(), server_addr())
                .settings(with(at_client.clone()))
                .await
                .unwrap();
            first.send(bytes(b"pay")).await.unwrap();
            first.recv().await.unwrap();
            first.close().await.unwrap();
            drop(first);
            // By then the server has seen the close.
            network.runtime().sleep_until(network.runtime().now() + Duration::from_millis(1)).await;
            network.untap();
            let recorded = std::mem::take(&mut *recorded.lock().unwrap());
            assert!(recorded.len() >= 7, "{}", recorded.len());
            let replay = async || {
                for datagram in &recorded {
                    network.inject(datagram).unwrap();
                    network.runtime().sleep_until(network.runtime().now() + Duration::from_millis(1)).await;
                }
                network.runtime().sleep_until(network.runtime().now() + Duration::from_secs(30)).await;
            };
            replay().await;
            assert_eq!(*accepted.lock().unwrap(), 1, "seed {seed}");
            let second = connect().connect(from, server_addr()).settings(with(at_client)).await.unwrap();
            second.send(bytes(b"ping")).await.unwrap();
            second.recv().await.unwrap();
            let waiting = second.recv();
            select(pin!(waiting), pin!(replay())).await;
            second.send(bytes(b"pong")).await.unwrap();
            assert_eq!(*second.recv().await.unwrap(), *b"pong");
            assert_eq!(*accepted.lock().unwrap(), 2, "seed {seed}");
        });
    }
}

#[test]
fn an_authenticated_connection_survives_a_poor_network_and_ends_with_its_peer() {
    for seed in 0..300u64 {
        let credentials = if seed % 4 == 0 { matching().swap_remove(3) } else { (shared(1), shared(1)) };
        simulate(seed, async |network: Network| {
            network.set_link(Link { corruption: 0.05, ..Link::poor(0.2) });
            let (at_client, at_server) = credentials;
            let listening = make_stack!(A).listen(server(&network), server_addr()).settings(with(at_server));
            echo(&network, listening.await.unwrap(), |error| panic!("{error}"));
            let connecting = connect(&network, at_client);
            let connection = connecting.await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let runtime = network.runtime();
            for attempt in 0.. {
                assert!(attempt < 200, "seed {seed}: no echo");
                connection.send(bytes(b"anyone?")).await.unwrap();
                let pause = pin!(runtime.sleep_until(runtime.now() + Duration::from_millis(50)));
                if let Either::Left((reply, _)) = select(pin!(connection.recv()), pause).await {
                    reply.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                    break;
                }
            }
            network.set_link(Link::default());
            connection.close().await.unwrap();
        });
    }
}

#[test]
fn a_restarted_server_resets_its_authenticated_clients() {
    for (seed, credentials) in matching().into_iter().enumerate() {
        simulate(seed as u64, async |network: Network| {
            let (connected, served) = pair(&network, credentials.clone()).await;
            network.cut_one_way(SERVER, CLIENT);
            drop(served);
            network.restart(SERVER);
            network.heal_all();
            let listening =
                make_stack!(A).listen(server(&network), server_addr()).settings(with(credentials.1));
            echo(&network, listening.await.unwrap(), |_| {});
            connected.send(bytes(b"is there still anybody who knows me?")).await.unwrap();
            assert_eq!(connected.recv().await.unwrap_err().kind(), ErrorKind::Reset, "seed {seed}");
        });
    }
}

#[test]
fn a_client_that_restarts_on_its_port_proves_itself_again() {
    for (seed, credentials) in matching().into_iter().enumerate() {
        simulate(seed as u64, async |network: Network| {
            let (at_client, at_server) = credentials;
            let listening = make_stack!(A).listen(server(&network), server_addr()).settings(with(at_server));
            let mut incoming = listening.await.unwrap();
            let from = client(&network).from_port(5000);
            let connect = || async {
                make_stack!(A)
                    .connect(from.clone(), server_addr())
                    .settings(with(at_client.clone()))
                    .await
                    .unwrap()
            };
            let (old, connected) = futures_util::join!(incoming.next_or_refusal(), connect());
            let old = old.unwrap().unwrap();
            network.cut(CLIENT, SERVER);
            drop(connected);
            network.restart(CLIENT);
            network.heal_all();
            let connecting = async {
                let connected = connect().await;
                connected.send(bytes(b"reborn")).await.unwrap();
                connected
            };
            let (end, served, connected) =
                futures_util::join!(old.recv(), incoming.next_or_refusal(), connecting);
            assert_eq!(end.unwrap_err().kind(), ErrorKind::Reset);
            let served = served.unwrap().unwrap();
            assert_eq!(served.explain().transcript(), connected.explain().transcript());
            assert_eq!(*served.recv().await.unwrap(), *b"reborn");
            served.send(bytes(b"welcome")).await.unwrap();
            assert_eq!(*connected.recv().await.unwrap(), *b"welcome");
            assert_eq!((served.forged(), connected.forged()), (0, 0));
        });
    }
}

#[test]
fn over_a_stream_too() {
    for credentials in matching() {
        simulate(10, async |network: Network| {
            let (at_client, at_server) = credentials;
            let listening =
                make_stack!(A).listen(server(&network).streams(), server_addr()).settings(with(at_server));
            echo(&network, listening.await.unwrap(), |_| {});
            let stack = make_stack!(A);
            let connecting =
                stack.connect(client(&network).streams(), server_addr()).settings(with(at_client));
            let connection = connecting.await.unwrap();
            connection.send(bytes(b"framed")).await.unwrap();
            assert_eq!(*connection.recv().await.unwrap(), *b"framed");
            connection.close().await.unwrap();
        });
    }
}

#[test]
fn an_idle_authenticated_connection_stays() {
    simulate(11, async |network: Network| {
        let (client, server) = pair(&network, (shared(1), shared(1))).await;
        let runtime = network.runtime();
        let later = async {
            runtime.sleep_until(runtime.now() + Duration::from_secs(600)).await;
            server.send(bytes(b"done")).await.unwrap();
        };
        let (received, ()) = futures_util::join!(client.recv(), later);
        assert_eq!(*received.unwrap(), *b"done");
        assert_eq!((client.dropped(), client.forged()), (0, 0));
    });
}
