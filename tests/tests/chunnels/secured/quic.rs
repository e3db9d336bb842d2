//! `Quic` with certificates.

use crate::secured::scene::{CLIENT, Hosts, SERVER, Subject, over_datagrams, over_streams};
use bertha_chunnels::{AtMostOnce, Batch, Fault, Fragment, Quic, Reliable};
use bertha_conformance::{self as conformance, Bufs};
use bertha_core::guarantee::{Authenticated, Encrypted, ForwardSecret, Ordered, Reliable as Arrives, Set};
use bertha_core::{
    Base, Buf, CertificateChain, Connection, Error, ErrorKind, PeerIdentity, Role, make_stack, select,
};
use bertha_datapath_sim::{Link, Verdict};
use bertha_negotiation::{Negotiate, Pick, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

#[test]
fn messages_over_quic() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let connect = async || hosts.connect(server.client(), server.server()).await;
        conformance::connection(connect, &Bufs).await;
        conformance::ends(connect, &Bufs).await;
    });
}

/// The messages have arrived, and the client closes before it receives them.
#[test]
fn messages_that_are_dropped_by_a_close_are_in_the_report() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let (here, there) = hosts.connect(server.client(), server.server()).await;
        for _ in 0..10 {
            there.send(there.base().buffer(100).unwrap()).await.unwrap();
        }
        hosts.network.runtime().sleep(Duration::from_millis(500)).await;
        let (closed, _) = futures_util::join!(here.close(), async { while there.recv().await.is_ok() {} });
        closed.unwrap();
        let drops = here.drops();
        let dropped = drops.iter().find(|it| (it.layer, it.reason) == ("Quic", "after the end")).unwrap();
        assert_eq!(dropped.messages, 10, "{drops}");
    });
}

/// The error of an end whose messages can't be delivered is the end of the connection below, and not the
/// failure of QUIC that followed.
#[test]
fn a_close_reports_the_end_of_the_connection_below() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let (here, _there) = hosts.connect(server.client(), server.server()).await;
        here.send(here.base().buffer(100).unwrap()).await.unwrap();
        hosts.network.restart(CLIENT);
        let error = here.close().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        assert!(error.to_string().contains("the host of this end was restarted"), "{error}");
    });
}

#[test]
fn large_messages_over_a_bad_network() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let stack = |quic, seed| {
            let fault = Fault::new(seed).loss(0.1).duplication(0.1).reordering(0.1, Duration::from_millis(1));
            make_stack!(Fragment::new().limit(200_000).piece(60_000), quic, fault)
        };
        let (here, there) = hosts.connect(stack(server.client(), 1), stack(server.server(), 2)).await;
        let sent = async {
            for number in 0..20_u8 {
                let mut message = here.base().buffer(150_000).unwrap();
                message.fill(number);
                here.send(message).await.unwrap();
            }
        };
        let received = async {
            for number in 0..20_u8 {
                let message = there.recv().await.unwrap();
                assert!(message.len() == 150_000 && message.iter().all(|byte| *byte == number));
            }
        };
        futures_util::join!(sent, received);
        let (closed, end) = futures_util::join!(here.close(), there.recv());
        closed.unwrap();
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Closed);
    });
}

#[test]
fn two_ends_agree_on_quic_or_on_reliable() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let either = |quic| select!(quic, Reliable::new());
        let (here, there) = hosts.connect(either(server.client()), either(server.server())).await;
        assert!(here.explain().to_string().starts_with("Quic"), "{}", here.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        let (here, there) = hosts.connect(either(server.client()), Reliable::new()).await;
        assert!(here.explain().to_string().starts_with("Reliable"), "{}", here.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        let (here, there) = hosts.connect(server.client(), either(server.server())).await;
        assert!(there.explain().to_string().starts_with("Quic"), "{}", there.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}

#[test]
fn it_is_refused_over_a_stream() {
    over_streams(async |hosts| {
        let server = Subject::new("server");
        let (here, there) = hosts.try_connect(server.client(), server.server(), Settings::default()).await;
        let error = here.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("Quic: unavailable: QUIC needs datagrams"), "{error}");
        assert!(there.is_none_or(|there| there.is_err()));
    });
}

/// Checks that an end turns its peer away.
fn turned_away(client: &Quic, server: &Quic, kind: ErrorKind) {
    over_datagrams(async |hosts| {
        let (here, there) = hosts.try_connect(client.clone(), server.clone(), Settings::default()).await;
        let kinds = [here.unwrap_err().kind(), there.unwrap().unwrap_err().kind()];
        // The first end to fail names the reason; its peer may learn from the link that the stack could not
        // be built.
        let expected = |of| of == kind || matches!(of, ErrorKind::Refused | ErrorKind::Closed);
        assert!(kinds.into_iter().all(expected) && kinds.contains(&kind), "{kinds:?}");
    });
}

#[test]
fn an_end_with_the_wrong_certificate_is_turned_away() {
    let [server, other, client] = ["server", "server", "client"].map(Subject::new);
    // The client expects another certificate, or another name.
    let unauthenticated = ErrorKind::Unauthenticated;
    turned_away(&other.client(), &server.server(), unauthenticated);
    let elsewhere = Quic::client("elsewhere", server.trust.clone()).unwrap();
    turned_away(&elsewhere, &server.server(), unauthenticated);
    // The client shows no certificate, or a certificate that the server does not trust.
    let strict = server.server().require_clients(client.trust.clone());
    turned_away(&server.client(), &strict, unauthenticated);
    turned_away(&server.client().identity(other.identity.clone()), &strict, unauthenticated);
    // Each end has the Chunnel of its peer.
    turned_away(&server.server(), &server.client(), ErrorKind::Invalid);
    // The client shows the certificate that the server trusts.
    over_datagrams(async |hosts| {
        let known = server.client().identity(client.identity.clone());
        let (here, there) = hosts.connect(known, strict.clone()).await;
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}

#[test]
fn the_second_connection_resumes_and_each_end_knows_the_other_all_the_same() {
    // The certificate has so many names that it is longer than the rest of the handshake.
    let names = std::array::from_fn::<_, 200, _>(|at| format!("server-{at}.store.example"));
    let (server, client) = (Subject::with_names(names), Subject::new("client"));
    over_datagrams(async |hosts| {
        let here = server.client().identity(client.identity.clone());
        let there = server.server().require_clients(client.trust.clone());
        let known = |subject: &Subject| {
            Some(PeerIdentity::Certificates(CertificateChain::new([subject.certificate.clone()], |_| {
                String::new()
            })))
        };
        let mut answered = Vec::new();
        for _ in 0..3 {
            let bytes = Arc::new(AtomicUsize::new(0));
            let counting = bytes.clone();
            hosts.network.tap(move |datagram| {
                if datagram.from.ip() == std::net::IpAddr::from(SERVER) {
                    counting.fetch_add(datagram.payload.len(), Relaxed);
                }
                Verdict::Pass
            });
            let (here, there) = hosts.connect(here.clone(), there.clone()).await;
            hosts.network.untap();
            answered.push(bytes.load(Relaxed));
            assert_eq!((here.explain().peer(), there.explain().peer()), (known(&server), known(&client)));
            conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        }
        let certificate = server.certificate.len();
        assert!(answered[0] > certificate, "{answered:?}");
        assert!(answered[1..].iter().all(|bytes| bytes + certificate / 2 < answered[0]), "{answered:?}");
        // A server with another trust resumes no session, and refuses the identity although there is a
        // session.
        let withdrawn = server.server().require_clients(server.trust.clone());
        turned_away_here(hosts, &here, &withdrawn).await;
    });
}

/// Works as [`turned_away`], for an end that refuses for lack of trust.
async fn turned_away_here(hosts: &Hosts, client: &Quic, server: &Quic) {
    let (here, there) = hosts.try_connect(client.clone(), server.clone(), Settings::default()).await;
    let kinds = [here.unwrap_err().kind(), there.unwrap().unwrap_err().kind()];
    assert!(kinds.contains(&ErrorKind::Unauthenticated), "{kinds:?}");
}

#[test]
fn it_reaches_a_floor_of_what_it_guarantees() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let mut settings = Settings::default();
        settings.floor = Set::of::<(Encrypted, (Authenticated, (Arrives, (Ordered, ForwardSecret))))>();
        let (here, there) = hosts.try_connect(server.client(), server.server(), settings).await;
        here.unwrap();
        there.unwrap().unwrap();
    });
}

#[test]
fn what_is_drained_has_arrived() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let (here, there) = hosts.connect(server.client(), server.server()).await;
        for burst in 0..3_u8 {
            hosts.network.set_link(Link { loss: 0.2, delay: Duration::from_millis(5), ..Link::default() });
            for number in 0..100 {
                let mut message = here.base().buffer(1_000).unwrap();
                (message[0], message[1]) = (burst, number);
                here.send(message).await.unwrap();
            }
            here.drain().await.unwrap();
            // From now on no datagram arrives.
            hosts.network.set_link(Link { loss: 1.0, ..Link::default() });
            for number in 0..100 {
                let message = there.recv().await.unwrap();
                assert_eq!((message[0], message[1]), (burst, number));
            }
        }
        hosts.network.set_link(Link::default());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    });
}

/// More messages than the receiver of a connection takes before the application asks for them.
const MANY: usize = 2_000;

/// Returns the number of messages until the end of the connection, and the end.
async fn receive_all(end: &impl Connection<Data = Buf>) -> (usize, ErrorKind) {
    let mut count = 0;
    loop {
        match end.recv().await {
            Ok(_) => count += 1,
            Err(error) => return (count, error.kind()),
        }
    }
}

/// The client sends more than the server takes, and the server changes the stack, so the old stack drains
/// for as long as the server does not receive. The end with this role closes meanwhile.
async fn close_while_draining(hosts: &Hosts, closing: Role) {
    let subject = Subject::new("server");
    let stack = |quic| make_stack!(select!(AtMostOnce, Batch::new()), quic).upgradable();
    let (here, there) = hosts.connect(stack(subject.client()), stack(subject.server())).await;
    let runtime = hosts.network.runtime();
    let sending = async {
        for _ in 0..MANY {
            here.send(here.base().buffer(1_000).unwrap()).await?;
        }
        Ok::<(), Error>(())
    };
    let changing = async {
        runtime.sleep(Duration::from_millis(200)).await;
        there.upgrade(Pick::alternative(1)).await.unwrap();
        runtime.sleep(Duration::from_secs(2)).await;
    };
    match closing {
        Role::Client => {
            let closing = async {
                sending.await.unwrap();
                runtime.sleep(Duration::from_secs(1)).await;
                here.close().await
            };
            let receiving = async {
                changing.await;
                receive_all(&there).await
            };
            let (closed, received) = futures_util::join!(closing, receiving);
            closed.unwrap();
            assert_eq!(received, (MANY, ErrorKind::Closed));
        }
        _ => {
            let closing = async {
                changing.await;
                there.close().await
            };
            // The server takes no message any more, so sending fails.
            let (closed, _, received) = futures_util::join!(closing, sending, receive_all(&here));
            closed.unwrap();
            assert_eq!(received, (0, ErrorKind::Closed));
        }
    }
}

#[test]
fn a_close_while_a_change_drains_quic_is_a_close_at_both_ends() {
    over_datagrams(async |hosts| {
        close_while_draining(hosts, Role::Client).await;
        close_while_draining(hosts, Role::Server).await;
    });
}
