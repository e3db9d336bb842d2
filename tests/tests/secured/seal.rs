//! A shared key.

use crate::scene::{over_datagrams, over_streams};
use bertha_chunnels::{Fault, Fragment, Ordered, Reliable, Seal};
use bertha_core::guarantee::{AtMostOnce, Authenticated, Encrypted, IntegrityChecked, Set};
use bertha_core::{Base, Connection, ErrorKind, make_stack};
use bertha_negotiation::Settings;
use bertha_tests::conformance::{self, Bufs};
use std::time::Duration;

const KEY: [u8; 32] = [7; 32];

#[test]
fn sealed_messages() {
    let check = async |hosts: &crate::scene::Hosts| {
        let stack = || make_stack!(Seal::new(&KEY));
        conformance::connection(async || hosts.connect(stack(), stack()).await, &Bufs).await;
        let (here, there) = hosts.connect(stack(), stack()).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Bufs).await;
    };
    over_datagrams(check);
    over_streams(check);
}

#[test]
fn sealed_packets_over_a_bad_network() {
    over_datagrams(async |hosts| {
        let fault =
            |seed| Fault::new(seed).loss(0.1).duplication(0.1).reordering(0.1, Duration::from_millis(1));
        let stack = |seed| {
            let transport = make_stack!(Ordered::new(), Fragment::new().limit(100_000), Reliable::new());
            make_stack!(transport, Seal::new(&KEY), fault(seed))
        };
        let (here, there) = hosts.connect(stack(1), stack(2)).await;
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
    });
}

#[test]
fn ends_with_different_keys_are_refused() {
    over_datagrams(async |hosts| {
        let (here, there) =
            hosts.try_connect(Seal::new(&KEY), Seal::new(&[8; 32]), Settings::default()).await;
        let error = here.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(error.to_string().contains("Seal"), "{error}");
        assert!(there.is_none_or(|there| there.is_err()));
    });
}

#[test]
fn it_reaches_a_floor_of_what_it_guarantees() {
    over_datagrams(async |hosts| {
        let mut settings = Settings::default();
        settings.floor = Set::of::<(Encrypted, (Authenticated, (IntegrityChecked, AtMostOnce)))>();
        let (here, there) = hosts.try_connect(Seal::new(&KEY), Seal::new(&KEY), settings).await;
        here.unwrap();
        there.unwrap().unwrap();
    });
}
