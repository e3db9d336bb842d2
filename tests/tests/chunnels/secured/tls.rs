//! TLS between negotiated ends, over streams and over datagrams below `Ordered` and `Reliable`.

use crate::secured::altered::{hide, is_refused, on_the_way, shorten};
use crate::secured::scene::{SERVER, over_datagrams, over_streams};
use bertha_chunnels::tls::TlsStatistics;
use bertha_chunnels::{AtMostOnce, Batch, Fault, Nothing, Ordered, Reliable, Tls, TlsIdentity, Trust};
use bertha_conformance::{self as conformance, Bufs};
use bertha_core::guarantee::{
    AtMostOnce as Once, Authenticated, Encrypted, ForwardSecret, IntegrityChecked, PeerIdentified, Set,
};
use bertha_core::{Addr, Base, CertificateChain, Connection, ErrorKind, PeerIdentity, make_stack, select};
use bertha_datapath_sim::Link;
use bertha_negotiation::{Negotiate, Pick, Settings};
use futures_util::future::{Either, select as first_of};
use std::pin::pin;
use std::time::Duration;

/// An end with a certificate of its own, and the trust in this certificate.
pub(crate) struct Party {
    certificate: Vec<u8>,
    identity: TlsIdentity,
    trust: Trust,
}

impl Party {
    pub(crate) fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(["store.example".to_owned()]).unwrap();
        let identity = TlsIdentity::from_pem(made.cert.pem(), made.signing_key.serialize_pem()).unwrap();
        let trust = Trust::ca_pem(made.cert.pem()).unwrap();
        Self { certificate: made.cert.der().to_vec(), identity, trust }
    }

    pub(crate) fn client(&self) -> Tls {
        Tls::client("store.example", self.trust.clone()).unwrap()
    }

    pub(crate) fn server(&self) -> Tls {
        Tls::server(self.identity.clone()).unwrap()
    }
}

/// Makes the stack over datagrams.
macro_rules! over {
    ($tls:expr $(, $below:expr)*) => {
        make_stack!($tls, Ordered::new(), Reliable::new() $(, $below)*)
    };
}

#[test]
fn messages_over_tls() {
    let party = Party::new();
    over_streams(async |hosts| {
        conformance::chunnel(
            async |[here, there]| {
                let (client, server) = (party.client(), party.server());
                hosts.connect(make_stack!(client, here), make_stack!(server, there)).await
            },
            &Bufs,
        )
        .await;
        conformance::ends(async || hosts.connect(party.client(), party.server()).await, &Bufs).await;
    });
    over_datagrams(async |hosts| {
        conformance::chunnel(
            async |[here, there]| {
                let client = make_stack!(party.client(), here, Ordered::new(), Reliable::new());
                let server = make_stack!(party.server(), there, Ordered::new(), Reliable::new());
                hosts.connect(client, server).await
            },
            &Bufs,
        )
        .await;
        let connect = async || hosts.connect(over!(party.client()), over!(party.server())).await;
        conformance::ends(connect, &Bufs).await;
        hosts.network.set_link(Link::poor(0.05));
        // Shorter than the checks wait: the only message of a dropped end may be lost.
        let settings = Settings::default().idle_timeout(Duration::from_secs(10));
        let connect = async || {
            let (client, server) = (over!(party.client()), over!(party.server()));
            let (here, there) = hosts.try_connect(client, server, settings.clone()).await;
            (here.unwrap(), there.unwrap().unwrap())
        };
        conformance::ends(connect, &Bufs).await;
    });
}

#[test]
fn large_messages_over_a_bad_network() {
    let party = Party::new();
    over_datagrams(async |hosts| {
        let fault =
            |seed| Fault::new(seed).loss(0.1).duplication(0.1).reordering(0.1, Duration::from_millis(1));
        let (client, server) = (over!(party.client(), fault(1)), over!(party.server(), fault(2)));
        let (here, there) = hosts.connect(client, server).await;
        let sent = async {
            for number in 0..10_u8 {
                let mut message = here.base().buffer(300_000).unwrap();
                message.fill(number);
                here.send(message).await.unwrap();
            }
            here.close().await
        };
        let received = async {
            for number in 0..10_u8 {
                let message = there.recv().await.unwrap();
                assert!(message.len() == 300_000 && message.iter().all(|byte| *byte == number));
            }
            there.recv().await
        };
        let (closed, end) = futures_util::join!(sent, received);
        closed.unwrap();
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Closed);
    });
}

#[test]
fn each_end_knows_whom_the_other_has_proved_to_be() {
    let (store, shopper) = (Party::new(), Party::new());
    over_streams(async |hosts| {
        let known = |party: &Party| {
            Some(PeerIdentity::Certificates(CertificateChain::new([party.certificate.clone()], |_| {
                String::new()
            })))
        };
        let (here, there) = hosts.connect(store.client(), store.server()).await;
        assert_eq!((here.explain().peer(), there.explain().peer()), (known(&store), None));
        // The second connection resumes the session of the first, and knows the identities of the first.
        let client = store.client().identity(shopper.identity.clone());
        let server = store.server().require_clients(shopper.trust.clone());
        for _ in 0..2 {
            let (here, there) = hosts.connect(client.clone(), server.clone()).await;
            conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
            assert_eq!((here.explain().peer(), there.explain().peer()), (known(&store), known(&shopper)));
            assert_eq!((here.peer_identity(), there.peer_identity()), (known(&store), known(&shopper)));
        }
    });
}

#[test]
fn it_reaches_a_floor_of_what_it_guarantees() {
    let party = Party::new();
    over_streams(async |hosts| {
        let floor = |floor| {
            let mut settings = Settings::default();
            settings.floor = floor;
            settings
        };
        let always = Set::of::<(Encrypted, (Authenticated, (IntegrityChecked, (Once, ForwardSecret))))>();
        let (here, there) = hosts
            .try_connect(party.client(), party.server(), floor(always | Set::of::<PeerIdentified>()))
            .await;
        here.unwrap();
        there.unwrap().unwrap();
    });
}

#[test]
fn over_datagrams_alone_it_is_invalid() {
    let party = Party::new();
    over_datagrams(async |hosts| {
        let error = party.client().connect(hosts.client.clone(), Addr::from((SERVER, 1))).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains("has to be reliable, ordered"), "{error}");
    });
}

#[test]
fn two_ends_agree_on_tls_where_one_would_do_without() {
    let party = Party::new();
    let either = |tls: Tls| select!(make_stack!(tls, Ordered::new(), Reliable::new()), make_stack!(Nothing));
    over_datagrams(async |hosts| {
        let (here, there) = hosts.connect(either(party.client()), over!(party.server())).await;
        assert!(here.explain().to_string().starts_with("Tls"), "{}", here.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}

#[test]
fn ends_refuse_a_weaker_stack_and_another_answer() {
    let party = Party::new();
    let stack = |tls| make_stack!(select!(AtMostOnce, Batch::new()), tls, Ordered::new(), Reliable::new());
    over_datagrams(async |hosts| {
        on_the_way(hosts, |message| hide(message, "AtMostOnce"));
        is_refused(hosts, stack(party.client()), stack(party.server())).await;
        on_the_way(hosts, shorten);
        is_refused(hosts, stack(party.client()), stack(party.server())).await;
        hosts.network.untap();
        let (here, there) = hosts.connect(stack(party.client()), stack(party.server())).await;
        assert!(here.explain().to_string().starts_with("AtMostOnce"), "{}", here.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}

#[test]
fn a_stack_that_takes_anothers_place_shakes_hands_again() {
    let party = Party::new();
    over_datagrams(async |hosts| {
        let stack = |tls: Tls| {
            let (one, other) = (make_stack!(AtMostOnce, tls.clone()), make_stack!(Batch::new(), tls));
            make_stack!(select!(one, other), Ordered::new(), Reliable::new()).upgradable()
        };
        let (here, there) = hosts.connect(stack(party.client()), stack(party.server())).await;
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        for alternative in [1, 0, 1] {
            let changed = {
                let upgrading = pin!(here.upgrade(Pick::alternative(alternative)));
                match first_of(upgrading, pin!(there.recv())).await {
                    Either::Left((changed, _)) => changed.unwrap(),
                    Either::Right((received, _)) => panic!("{received:?}"),
                }
            };
            let expected = if alternative == 1 { "Batch" } else { "AtMostOnce" };
            assert!(changed.to_string().starts_with(expected), "{changed}");
            conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        }
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    });
}

#[test]
fn resumed_and_failed_handshakes_are_counted_by_all_connections_of_an_end() {
    let party = Party::new();
    over_streams(async |hosts| {
        let (client, server) = (party.client(), party.server());
        let meet = async || {
            let (here, there) = hosts.connect(client.clone(), server.clone()).await;
            // The session's ticket comes with the first message.
            conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
            [here.statistics(), there.statistics()].map(|statistics| {
                let told: TlsStatistics = *statistics.get().unwrap();
                (told.is_resumed, told.handshakes, told.resumed_handshakes, told.failed_handshakes)
            })
        };
        assert_eq!(meet().await, [(false, 1, 0, 0); 2]);
        assert_eq!(meet().await, [(true, 2, 1, 0); 2]);
        let stranger = Party::new().client();
        assert!(hosts.try_connect(stranger, server.clone(), Settings::default()).await.0.is_err());
        assert_eq!(meet().await, [(true, 3, 2, 0), (true, 3, 2, 1)]);
    });
}
