//! Certificates.

use crate::scene::{Subject, over_datagrams, over_streams};
use bertha_chunnels::quic::Certificates;
use bertha_chunnels::{Fault, Fragment, Quic, Reliable};
use bertha_core::guarantee::{Authenticated, Encrypted, Ordered, Reliable as Arrives, Set};
use bertha_core::{Base, Connection, ErrorKind, make_stack, select};
use bertha_datapath_sim::Link;
use bertha_negotiation::Settings;
use bertha_tests::conformance::{self, Bufs};
use std::time::Duration;

#[test]
fn messages_over_quic() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let connect = async || hosts.connect(Quic::new(server.trusted()), Quic::new(server.shown())).await;
        conformance::connection(connect, &Bufs).await;
        let (here, there) = connect().await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
        let (here, there) = connect().await;
        conformance::the_peer_hears_of_a_close(&there, &here, &Bufs).await;
    });
}

#[test]
fn large_messages_over_a_bad_network() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let stack = |certificates, seed| {
            let fault = Fault::new(seed).loss(0.1).duplication(0.1).reordering(0.1, Duration::from_millis(1));
            make_stack!(Fragment::new().limit(200_000).piece(60_000), Quic::new(certificates), fault)
        };
        let (here, there) = hosts.connect(stack(server.trusted(), 1), stack(server.shown(), 2)).await;
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
        let either = |certificates| select!(Quic::new(certificates), Reliable::new());
        let (here, there) = hosts.connect(either(server.trusted()), either(server.shown())).await;
        assert!(here.explain().to_string().starts_with("Quic"), "{}", here.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        let (here, there) = hosts.connect(either(server.trusted()), Reliable::new()).await;
        assert!(here.explain().to_string().starts_with("Reliable"), "{}", here.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        let (here, there) = hosts.connect(Quic::new(server.trusted()), either(server.shown())).await;
        assert!(there.explain().to_string().starts_with("Quic"), "{}", there.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}

#[test]
fn it_is_refused_over_a_stream() {
    over_streams(async |hosts| {
        let server = Subject::new("server");
        let (here, there) = hosts
            .try_connect(Quic::new(server.trusted()), Quic::new(server.shown()), Settings::default())
            .await;
        let error = here.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains("Quic: unavailable: QUIC needs datagrams"), "{error}");
        assert!(there.is_none_or(|there| there.is_err()));
    });
}

/// One end turns the other away.
fn turned_away(client: Certificates, server: Certificates) {
    over_datagrams(async |hosts| {
        let (client, server) = (Quic::new(client.clone()), Quic::new(server.clone()));
        let (here, there) = hosts.try_connect(client, server, Settings::default()).await;
        // A client that is turned away hears of it after TLS is done on its side.
        let here = match here {
            Ok(here) => here.recv().await.unwrap_err(),
            Err(error) => error,
        };
        let text = here.to_string();
        let kinds = [here.kind(), there.unwrap().unwrap_err().kind()];
        // The first end to fail says why; the other may learn from the link that the stack could not be built.
        let expected =
            |kind| matches!(kind, ErrorKind::Unauthenticated | ErrorKind::Refused | ErrorKind::Closed);
        assert!(
            kinds.into_iter().all(expected) && kinds.contains(&ErrorKind::Unauthenticated),
            "{kinds:?} {text}"
        );
    });
}

#[test]
fn who_shows_the_wrong_certificate_is_turned_away() {
    let [server, other, client] = ["server", "server", "client"].map(Subject::new);
    // Another certificate, another name.
    turned_away(other.trusted(), server.shown());
    turned_away(server.trusted().expecting("elsewhere"), server.shown());
    // A client that shows none, or one that the server does not trust.
    let strict = || client.trusted_by(server.shown());
    turned_away(server.trusted(), strict());
    let stranger = server.trusted_by(other.shown()).expecting("server");
    turned_away(stranger, strict());
    // The one that it trusts.
    over_datagrams(async |hosts| {
        let known = server.trusted_by(client.shown()).expecting("server");
        let (here, there) = hosts.connect(Quic::new(known), Quic::new(strict())).await;
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}

#[test]
fn missing_certificates_are_errors_that_say_so() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let none = || Quic::new(Certificates::none());
        let (here, _) = hosts.try_connect(none(), Quic::new(server.shown()), Settings::default()).await;
        let error = here.unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("trusting"), "{error}");
        let (_, there) = hosts.try_connect(Quic::new(server.trusted()), none(), Settings::default()).await;
        let error = there.unwrap().unwrap_err();
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("showing"), "{error}");
    });
}

#[test]
fn it_reaches_a_floor_of_what_it_guarantees() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let mut settings = Settings::default();
        settings.floor = Set::of::<(Encrypted, (Authenticated, (Arrives, Ordered)))>();
        let (here, there) =
            hosts.try_connect(Quic::new(server.trusted()), Quic::new(server.shown()), settings).await;
        here.unwrap();
        there.unwrap().unwrap();
    });
}

#[test]
fn what_is_drained_has_arrived() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let (here, there) = hosts.connect(Quic::new(server.trusted()), Quic::new(server.shown())).await;
        for burst in 0..3_u8 {
            hosts.network.set_link(Link { loss: 0.2, delay: Duration::from_millis(5), ..Link::default() });
            for number in 0..100 {
                let mut message = here.base().buffer(1_000).unwrap();
                (message[0], message[1]) = (burst, number);
                here.send(message).await.unwrap();
            }
            here.drain().await.unwrap();
            // From now on nothing arrives.
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
