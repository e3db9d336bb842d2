//! Noise: a shared key, or static keys.

use crate::secured::scene::{Hosts, SERVER, over_datagrams, over_streams};
use bertha_chunnels::{Fault, Fragment, Noise, NoiseKey, Ordered, Reliable};
use bertha_conformance::{self as conformance, Bufs};
use bertha_core::guarantee::{
    AtMostOnce, Authenticated, Encrypted, ForwardSecret, IntegrityChecked, PeerIdentified, Set,
};
use bertha_core::{Base, Connection, ErrorKind, PeerIdentity, make_stack, select};
use bertha_negotiation::{Credentials, Negotiate, Settings, SharedKey};
use futures_util::future::join;
use std::time::Duration;

const KEY: [u8; 32] = [7; 32];

pub(crate) fn client_key() -> NoiseKey {
    NoiseKey::from_bytes([1; 32])
}

pub(crate) fn server_key() -> NoiseKey {
    NoiseKey::from_bytes([2; 32])
}

/// Returns the Chunnels of a client and a server, for each pattern.
pub(crate) fn patterns() -> [(Noise, Noise); 2] {
    let client = Noise::client(client_key(), server_key().public());
    let server = Noise::server(server_key(), [client_key().public()]);
    [(Noise::shared(&KEY), Noise::shared(&KEY)), (client, server)]
}

#[test]
fn encrypted_messages() {
    let check = async |hosts: &Hosts| {
        for (client, server) in patterns() {
            let connect = async || hosts.connect(client.clone(), server.clone()).await;
            conformance::connection(connect, &Bufs).await;
            let (here, there) = connect().await;
            conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
        }
    };
    over_datagrams(check);
    over_streams(check);
}

#[test]
fn encrypted_packets_over_a_bad_network() {
    over_datagrams(async |hosts| {
        for (client, server) in patterns() {
            let fault =
                |seed| Fault::new(seed).loss(0.1).duplication(0.1).reordering(0.1, Duration::from_millis(1));
            let stack = |noise, seed| {
                let transport = make_stack!(Ordered::new(), Fragment::new().limit(100_000), Reliable::new());
                make_stack!(transport, noise, fault(seed))
            };
            let (here, there) = hosts.connect(stack(client, 1), stack(server, 2)).await;
            let sent = async {
                for number in 0..200_u8 {
                    let mut message = here.base().buffer(5_000).unwrap();
                    message.fill(number);
                    here.send(message).await.unwrap();
                }
            };
            let received = async {
                for number in 0..200_u8 {
                    let message = there.recv().await.unwrap();
                    assert!(message.len() == 5_000 && message.iter().all(|byte| *byte == number));
                }
            };
            futures_util::join!(sent, received);
        }
    });
}

/// Checks that the two ends do not agree.
async fn disagree(hosts: &Hosts, client: Noise, server: Noise) {
    let (here, there) = hosts.try_connect(client, server, Settings::default()).await;
    let error = here.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("Noise"), "{error}");
    assert!(there.is_none_or(|there| there.is_err()));
}

#[test]
fn ends_with_different_keys_or_patterns_are_refused() {
    over_datagrams(async |hosts| {
        let [(shared, _), (client, server)] = patterns();
        disagree(hosts, shared.clone(), Noise::shared(&[8; 32])).await;
        disagree(hosts, Noise::client(client_key(), client_key().public()), server.clone()).await;
        disagree(hosts, shared.clone(), server).await;
        disagree(hosts, client, shared).await;
    });
}

#[test]
fn a_client_whose_key_is_not_trusted_is_refused_and_both_ends_say_why() {
    over_datagrams(async |hosts| {
        let [_, (client, _)] = patterns();
        let server = Noise::server(server_key(), [[9; 32], server_key().public()]);
        let (here, there) = hosts.try_connect(client, server, Settings::default()).await;
        // The end that fails first notifies its peer.
        for error in [here.unwrap_err(), there.unwrap().unwrap_err()] {
            let kinds = [ErrorKind::Unauthenticated, ErrorKind::Refused, ErrorKind::Closed];
            assert!(kinds.contains(&error.kind()), "{error}");
            assert!(error.to_string().contains("does not trust the client's key"), "{error}");
        }
    });
}

#[test]
fn the_keys_of_the_other_role_are_refused() {
    over_datagrams(async |hosts| {
        let [_, (client, server)] = patterns();
        let (here, there) = hosts.try_connect(server, client, Settings::default()).await;
        let errors = [here.unwrap_err(), there.unwrap().unwrap_err()];
        assert!(errors.iter().any(|error| error.kind() == ErrorKind::Invalid), "{errors:?}");
    });
}

#[test]
fn it_reaches_a_floor_of_what_it_guarantees() {
    type Common = (Encrypted, (Authenticated, (IntegrityChecked, (AtMostOnce, ForwardSecret))));
    over_datagrams(async |hosts| {
        for (client, server) in patterns() {
            let mut settings = Settings::default();
            settings.floor = Set::of::<Common>();
            let (here, there) = hosts.try_connect(client, server, settings).await;
            here.unwrap();
            there.unwrap().unwrap();
        }
    });
}

#[test]
fn a_shared_key_alone_identifies_nobody() {
    over_datagrams(async |hosts| {
        let [(shared, other), (client, server)] = patterns();
        let mut settings = Settings::default();
        settings.floor = Set::of::<PeerIdentified>();
        let (here, _) = hosts.try_connect(shared, other, settings.clone()).await;
        assert_eq!(here.unwrap_err().kind(), ErrorKind::Invalid);
        let (here, there) = hosts.try_connect(client, server, settings).await;
        let (here, there) = (here.unwrap(), there.unwrap().unwrap());
        let peers = [here.explain().peer(), there.explain().peer()];
        let expected = [server_key(), client_key()].map(|key| Some(PeerIdentity::NoiseKey(key.public())));
        assert_eq!(peers, expected);
    });
}

/// A shared key of the Chunnel or of the credentials does not reach the floor, whichever end has the floor.
#[test]
fn a_floor_of_a_known_peer_refuses_a_shared_key_at_either_end() {
    let floor = || {
        let mut settings = Settings::default();
        settings.floor = Set::of::<PeerIdentified>();
        settings
    };
    let [(shared, _), (client, server)] = patterns();
    over_datagrams(async |hosts| {
        let server_for_both = || make_stack!(select!(shared.clone(), server.clone()));
        let mut incoming =
            server_for_both().listen(hosts.server.clone(), (SERVER, 7)).settings(floor()).await.unwrap();
        let to = incoming.local_addr();
        let plain = Settings::default();
        let connecting = make_stack!(shared.clone());
        let connecting = connecting.connect(hosts.client.clone(), to.clone()).settings(plain.clone());
        let (refused, reported) = join(connecting.into_future(), incoming.next_or_refusal()).await;
        for error in [refused.unwrap_err(), reported.unwrap().unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
            assert!(error.to_string().contains("Noise"), "{error}");
        }
        let either = make_stack!(select!(shared.clone(), client.clone()));
        let connecting = either.connect(hosts.client.clone(), to).settings(plain);
        let (here, there) = join(connecting.into_future(), incoming.next_or_refusal()).await;
        assert_eq!(here.unwrap().explain().peer(), Some(PeerIdentity::NoiseKey(server_key().public())));
        there.unwrap().unwrap();
    });
    over_datagrams(async |hosts| {
        let mut settings = floor();
        settings.credentials = Credentials::shared(SharedKey::new(KEY));
        let stack = || make_stack!(shared.clone());
        let listening = stack().listen(hosts.server.clone(), (SERVER, 8)).settings(settings.clone());
        assert_eq!(listening.await.err().unwrap().kind(), ErrorKind::Invalid);
        let connecting = stack();
        let connecting = connecting.connect(hosts.client.clone(), (SERVER, 8)).settings(settings);
        assert_eq!(connecting.await.err().unwrap().kind(), ErrorKind::Invalid);
    });
}
