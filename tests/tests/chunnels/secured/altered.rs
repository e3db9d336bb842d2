//! An attacker on the path that alters the handshake of two ends without credentials.

use crate::secured::scene::{Hosts, Subject, over_datagrams};
use bertha_chunnels::{AtMostOnce, Batch, Noise};
use bertha_conformance::{self as conformance, Bufs};
use bertha_core::{Chunnel, Connection, Describe, Error, ErrorKind, make_stack, select};
use bertha_datapath_sim::{SimDatapath, Verdict};
use bertha_negotiation::testing::wire::{self, Answer, Kind, Upgrade};
use bertha_negotiation::{Negotiate, Pick, Runs, Settings};
use futures_util::future::{Either, select as first_of};
use std::pin::pin;

/// Alters the handshake messages that `alter` knows, on their way between the hosts.
pub(crate) fn on_the_way(hosts: &Hosts, alter: impl Fn(&mut Vec<u8>) + Send + 'static) {
    hosts.network.tap(move |datagram| {
        if wire::header(&datagram.payload).is_some_and(|(kind, _)| kind != Kind::Data) {
            alter(&mut datagram.payload);
        }
        Verdict::Pass
    });
}

/// Takes a choice from the server: it knows no Chunnel of the altered name.
pub(crate) fn hide(offer: &mut [u8], name: &str) {
    let Some((Kind::Offer, _)) = wire::header(offer) else { return };
    if let Some(at) = offer.windows(name.len()).position(|window| window == name.as_bytes()) {
        offer[at] ^= 1;
        put_check(offer);
    }
}

/// Numbers of bytes at the end of a proven message: of its number, its MAC, and the check.
const NUMBER: usize = 8;
const MAC: usize = 16;
const CHECK: usize = 4;

/// Corrects the check of an altered message, so that it does not count as damaged.
fn put_check(message: &mut [u8]) {
    let end = message.len() - CHECK;
    let check = crc32fast::hash(&message[..end]);
    message[end..].copy_from_slice(&check.to_le_bytes());
}

/// Changes a field of an answer on which the stack does not depend.
pub(crate) fn shorten(answer: &mut Vec<u8>) {
    if let (Some((kind, tag)), Ok(mut said)) = (wire::header(answer), wire::decode::<Answer>(answer))
        && kind == Kind::Answer
    {
        said.idle_ms -= 1;
        *answer = wire::encode(kind, tag, &said).unwrap();
    }
}

/// Checks that both ends refuse the connection, and that at least one error names the reason.
pub(crate) async fn is_refused<S>(hosts: &Hosts, client: S, server: S)
where
    S: Describe + Chunnel<bertha_negotiation::Link<bertha_datapath_sim::SimConnection>> + 'static,
    SimDatapath: Runs<S>,
    <SimDatapath as Runs<S>>::Out: Send,
{
    let (here, there) = hosts.try_connect(client, server, Settings::default()).await;
    let here = match here {
        // QUIC's server turns a client away after the client has completed its handshake.
        Ok(here) => here.recv().await.err().unwrap(),
        Err(error) => error,
    };
    let there = there.unwrap().err().unwrap();
    let is_expected = |error: &Error| {
        let kinds = [ErrorKind::Unauthenticated, ErrorKind::Refused, ErrorKind::Closed];
        kinds.contains(&error.kind())
    };
    assert!(is_expected(&here) && is_expected(&there), "{here}; {there}");
    let knows = |error: &Error| {
        error.kind() == ErrorKind::Unauthenticated && error.to_string().contains("altered on its way")
    };
    assert!(knows(&here) || knows(&there), "{here}; {there}");
}

#[test]
fn ends_of_noise_refuse_a_weaker_stack_that_neither_has_asked_for() {
    over_datagrams(async |hosts| {
        let stack = || make_stack!(select!(AtMostOnce, Batch::new()), Noise::shared(&[7; 32]));
        let (here, there) = hosts.connect(stack(), stack()).await;
        assert!(here.explain().to_string().starts_with("AtMostOnce"), "{}", here.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        on_the_way(hosts, |message| hide(message, "AtMostOnce"));
        is_refused(hosts, stack(), stack()).await;
        // Without a Chunnel that checks the agreement, no end notices the change.
        let stack = || select!(AtMostOnce, Batch::new());
        let (here, _) = hosts.connect(stack(), stack()).await;
        assert!(here.explain().to_string().starts_with("Batch"), "{}", here.explain());
    });
}

#[test]
fn ends_of_noise_refuse_another_answer_than_was_given() {
    over_datagrams(async |hosts| {
        let stack = || make_stack!(Noise::shared(&[7; 32]));
        on_the_way(hosts, shorten);
        is_refused(hosts, stack(), stack()).await;
        hosts.network.untap();
        let (here, there) = hosts.connect(stack(), stack()).await;
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}

#[test]
fn ends_of_quic_refuse_a_weaker_stack_and_another_answer() {
    over_datagrams(async |hosts| {
        let server = Subject::new("server");
        let stack = |quic| make_stack!(select!(AtMostOnce, Batch::new()), quic);
        on_the_way(hosts, |message| hide(message, "AtMostOnce"));
        is_refused(hosts, stack(server.client()), stack(server.server())).await;
        on_the_way(hosts, shorten);
        is_refused(hosts, stack(server.client()), stack(server.server())).await;
        hosts.network.untap();
        let (here, there) = hosts.connect(stack(server.client()), stack(server.server())).await;
        assert!(here.explain().to_string().starts_with("AtMostOnce"), "{}", here.explain());
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}

#[test]
fn a_change_of_stacks_that_was_altered_is_not_made() {
    over_datagrams(async |hosts| {
        let stack = || make_stack!(select!(AtMostOnce, Batch::new()), Noise::shared(&[7; 32])).upgradable();
        let (here, there) = hosts.connect(stack(), stack()).await;
        // The message is proved by the key of the secure Chunnel, so the end reads it as a proven message,
        // and drops it if the proof is wrong. Its number is altered: apart from the proof, the peer could
        // have sent this message.
        on_the_way(hosts, |message| {
            if let Some((Kind::Upgrade, _)) = wire::header(message) {
                assert!(wire::decode::<Upgrade>(message).is_err());
                let number = message.len() - CHECK - MAC - NUMBER;
                message[number] ^= 32;
                put_check(message);
            }
        });
        // Both ends receive all the while, as applications do.
        let error = {
            let upgrading = pin!(here.upgrade(Pick::alternative(1)));
            match first_of(upgrading, pin!(there.recv())).await {
                Either::Left((changed, _)) => changed.unwrap_err(),
                Either::Right((received, _)) => panic!("{received:?}"),
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        assert_eq!(here.explain().round(), 0);
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
        hosts.network.untap();
        let changed = {
            let upgrading = pin!(here.upgrade(Pick::alternative(1)));
            match first_of(upgrading, pin!(there.recv())).await {
                Either::Left((changed, _)) => changed.unwrap(),
                Either::Right((received, _)) => panic!("{received:?}"),
            }
        };
        assert!(changed.to_string().starts_with("Batch"), "{changed}");
        conformance::messages_arrive_both_ways(&here, &there, &Bufs).await;
    });
}
