//! Groups whose participants share a key, and outsiders that see and send all kinds of messages.

use crate::multi_endpoint::attack::{Habits, attack};
use crate::multi_endpoint::crowd::Crowd;
use bertha_chunnels::{Batch, Checksum, Nothing};
use bertha_core::guarantee::{Encrypted, Set};
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Dropped, Drops, Error, ErrorKind, Identity,
    make_stack, select,
};
use bertha_datapath_sim::{Datagram, Sim, Verdict};
use bertha_negotiation::rendezvous::MultiEndpoint;
use bertha_negotiation::testing::wire::{
    self, GROUP_HEADER, HEADER, Kind, Origin, PROVEN_GROUP_HEADER, PeerProgress, origin, proven_origin,
};
use bertha_negotiation::{Pick, SharedKey};
use futures_util::future::{Either, join, select as first_of};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn with_crowd(seed: u64, key: Option<u8>, play: impl AsyncFn(Crowd)) {
    let mut sim = Sim::new(seed);
    let mut crowd = Crowd::new(sim.network().clone());
    crowd.settings.group_key = key.map(|key| SharedKey::new([key; 32]));
    sim.run(play(crowd));
}

fn message(text: &str) -> Buf {
    Buf::copy_of(text.as_bytes(), 0).unwrap()
}

/// Returns the next message that a participant receives within a while, or `None`.
async fn heard<C: Connection<Data = Buf>>(crowd: &Crowd, connection: &MultiEndpoint<C>) -> Option<String> {
    let late = pin!(crowd.pause(Duration::from_millis(200)));
    match first_of(pin!(connection.recv()), late).await {
        Either::Left((message, _)) => Some(String::from_utf8(message.unwrap().to_vec()).unwrap()),
        Either::Right(_) => None,
    }
}

/// Records the datagrams that go over the wire.
fn last_of(crowd: &Crowd) -> Arc<Mutex<Vec<Datagram>>> {
    let seen = Arc::<Mutex<Vec<Datagram>>>::default();
    let record = seen.clone();
    crowd.network.tap(move |datagram| {
        record.lock().unwrap().push(datagram.clone());
        Verdict::Pass
    });
    seen
}

/// Makes a copy of a message with another text and the next number, as an outsider would make it.
fn forged(genuine: &Datagram, text: &[u8]) -> Datagram {
    let payload = match wire::header(&genuine.payload).unwrap().0 {
        Kind::ProvenGroupData => {
            let mut origin = proven_origin(&genuine.payload[HEADER..]).unwrap();
            origin.number += 1;
            [&genuine.payload[..HEADER], &origin.to_bytes(), text].concat()
        }
        _ => {
            let Origin { number, sender } = origin(&genuine.payload[HEADER..]).unwrap();
            let origin = Origin { number: number + 1, sender };
            [&genuine.payload[..HEADER], &origin.to_bytes(), text].concat()
        }
    };
    Datagram { payload, ..genuine.clone() }
}

#[test]
fn a_forged_sender_is_dropped_and_counted_with_a_key_and_heard_without() {
    for key in [None, Some(1)] {
        with_crowd(1, key, async |crowd| {
            let one = crowd.join(1, make_stack!(Nothing)).await.unwrap();
            let two = crowd.join(2, make_stack!(Nothing)).await.unwrap();
            let seen = last_of(&crowd);
            one.send(message("genuine")).await.unwrap();
            assert_eq!(heard(&crowd, &two).await.as_deref(), Some("genuine"));
            let room = if key.is_some() { PROVEN_GROUP_HEADER } else { GROUP_HEADER };
            let is_data = |it: &&Datagram| it.payload.get(room..) == Some(b"genuine");
            let genuine = seen.lock().unwrap().iter().rev().find(is_data).unwrap().clone();
            let dropped = two.dropped();
            crowd.network.inject(&forged(&genuine, b"forged")).unwrap();
            crowd.network.inject(&genuine).unwrap();
            let heard_first = heard(&crowd, &two).await;
            match key {
                None => assert_eq!(heard_first.as_deref(), Some("forged")),
                Some(_) => {
                    assert_eq!(
                        (heard_first, two.dropped()),
                        (None, dropped + 2),
                        "one is forged, one a replay"
                    );
                    assert_eq!(count(&two.drops(), "GroupLink", "forged or malformed"), 2);
                }
            }
        });
    }
}

fn count(drops: &Drops, layer: &str, reason: &str) -> u64 {
    let is_this = |it: &&Dropped| it.layer == layer && it.reason == reason;
    drops.iter().find(is_this).map(|it| it.messages).unwrap()
}

/// Messages are dropped below the stack, in its Chunnels, and while a participant leaves.
#[test]
fn what_a_participant_drops_is_in_its_report() {
    with_crowd(5, None, async |crowd| {
        let stack = || make_stack!(Checksum::new());
        let one = crowd.join(1, stack()).await.unwrap();
        let two = crowd.join(2, stack()).await.unwrap();
        let seen = last_of(&crowd);
        one.send(message("genuine")).await.unwrap();
        assert_eq!(heard(&crowd, &two).await.as_deref(), Some("genuine"));
        assert_eq!(two.drops().total(), 0, "{}", two.drops());
        let is_data = |it: &&Datagram| it.payload.ends_with(b"genuine");
        let genuine = seen.lock().unwrap().iter().rev().find(is_data).unwrap().clone();
        let mut damaged = forged(&genuine, &genuine.payload[GROUP_HEADER..]);
        *damaged.payload.last_mut().unwrap() ^= 1;
        crowd.network.inject(&damaged).unwrap();
        let short = Datagram { payload: genuine.payload[..HEADER + 1].to_vec(), ..genuine.clone() };
        crowd.network.inject(&short).unwrap();
        assert_eq!(heard(&crowd, &two).await, None);
        assert_eq!(two.drops().to_string(), "GroupLink: 1 forged or malformed, Checksum: 1 damaged");
        // The first participant leads, so it stays until the second participant has begun another round.
        let talking = async {
            two.send(message("to one that leaves")).await.unwrap();
            while two.recv().await.is_ok() {}
        };
        let leaving = pin!(one.close());
        match first_of(leaving, pin!(talking)).await {
            Either::Left((left, _)) => left.unwrap(),
            Either::Right(_) => panic!("two has ended"),
        }
        assert_eq!(count(&one.drops(), "GroupLink", "after the end"), 1, "{}", one.drops());
    });
}

#[test]
fn those_with_another_key_or_none_are_not_heard() {
    with_crowd(2, Some(1), async |crowd| {
        let with = |key: Option<u8>| {
            let mut other = crowd.clone();
            other.settings.group_key = key.map(|key| SharedKey::new([key; 32]));
            other
        };
        let one = crowd.join(1, make_stack!(Nothing)).await.unwrap();
        for (number, key) in [(2, Some(2)), (3, None)] {
            let stranger = with(key).join(number, make_stack!(Nothing)).await.unwrap();
            stranger.send(message("let me in")).await.unwrap();
            assert_eq!(heard(&crowd, &one).await, None);
            one.send(message("for the others")).await.unwrap();
            assert_eq!(heard(&crowd, &stranger).await, None);
            std::mem::forget(stranger);
        }
        assert!(one.dropped() >= 2, "{}", one.dropped());
        let other = crowd.join(4, make_stack!(Nothing)).await.unwrap();
        other.send(message("hello")).await.unwrap();
        assert_eq!(heard(&crowd, &one).await.as_deref(), Some("hello"));
    });
}

/// An outsider announces that all participants have moved on and left messages behind, and replays all
/// messages. The participants drop its messages: changes go on as if it were not there, and each message
/// arrives once.
#[test]
fn an_outsider_bends_no_change_of_a_group_with_a_key() {
    bertha_tests::with_seeds(40, |seed| {
        with_crowd(seed, Some(1), async |crowd| {
            let stack = || make_stack!(select!(Nothing, Batch::new()));
            let habits = Habits { drop: 0, hold: 0, replay: 40, edit: 0, invent: 60 };
            let is_active = attack(&crowd.network, seed, habits);
            let one = crowd.join(1, stack()).await.unwrap();
            let two = crowd.join(2, stack()).await.unwrap();
            crowd.pause(Duration::from_millis(100)).await;
            is_active.store(true, Ordering::Relaxed);
            for round in 0..6_usize {
                let talking = async {
                    for number in 0..10 {
                        one.send(message(&format!("{round} {number}"))).await.unwrap();
                        crowd.pause(Duration::from_millis(1)).await;
                    }
                    one.upgrade(Pick::alternative((round + 1) % 2)).await.unwrap();
                };
                let hearing = async {
                    for number in 0..10 {
                        let heard = two.recv().await.unwrap();
                        assert_eq!(*heard, *format!("{round} {number}").as_bytes(), "seed {seed}");
                    }
                    // This end has to receive to take part in the change.
                    heard(&crowd, &two).await
                };
                // A change that believed the outsider would wait five seconds for messages that no
                // participant has sent.
                let late = crowd.pause(Duration::from_secs(2));
                let reading = async { while one.recv().await.is_ok() {} };
                let (late, reading) = (pin!(late), pin!(reading));
                let (rest, both) = (first_of(late, reading), pin!(join(talking, hearing)));
                match first_of(both, rest).await {
                    Either::Left((((), more), _)) => assert_eq!(more, None, "seed {seed}"),
                    Either::Right(_) => panic!("seed {seed}: held up in round {round}"),
                }
            }
            assert_eq!(one.explain().round(), two.explain().round(), "seed {seed}");
        });
    });
}

/// Repeated progress, and progress from a sender without the key, is dropped.
#[test]
fn progress_without_a_proof_is_dropped_and_counted() {
    with_crowd(3, Some(1), async |crowd| {
        let seen = last_of(&crowd);
        let one = crowd.join(1, make_stack!(Nothing)).await.unwrap();
        let two = crowd.join(2, make_stack!(Nothing)).await.unwrap();
        assert_eq!(join(heard(&crowd, &one), heard(&crowd, &two)).await, (None, None));
        let is_progress = |it: &&Datagram| matches!(wire::header(&it.payload), Some((Kind::PeerProgress, _)));
        let said = seen.lock().unwrap().iter().rev().find(is_progress).unwrap().clone();
        let (_, tag) = wire::header(&said.payload).unwrap();
        let claim = PeerProgress { sender: one.id(), life: 1, round: u64::MAX, before: None, asks: true };
        let claim = wire::encode(Kind::PeerProgress, tag, &claim).unwrap();
        let dropped = two.dropped();
        crowd.network.inject(&Datagram { payload: claim, ..said.clone() }).unwrap();
        crowd.network.inject(&said).unwrap();
        assert_eq!(heard(&crowd, &two).await, None);
        assert_eq!(two.dropped(), dropped + 2);
    });
}

/// States that it encrypts, and passes messages on as they are.
#[derive(Debug, Clone, Identity)]
#[chunnel(guarantees(Encrypted))]
struct Secret;

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Secret {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

#[test]
fn a_change_loses_no_guarantee_that_a_participant_keeps() {
    for may_all_lose in [false, true] {
        with_crowd(4, None, async |mut crowd| {
            if may_all_lose {
                crowd.settings.may_lose = Set::ALL;
            }
            let stack = || make_stack!(select!(Secret, Nothing));
            let one = crowd.join(1, stack()).await.unwrap();
            let two = crowd.join(2, stack()).await.unwrap();
            let listening = async { while two.recv().await.is_ok() {} };
            let asking = async {
                let carelessly = one.upgrade(Pick::alternative(1)).await;
                if may_all_lose {
                    return assert!(carelessly.unwrap().to_string().starts_with("Nothing"));
                }
                let error = carelessly.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Refused);
                assert!(error.to_string().contains("stack in use, encrypted; a pick lets go"), "{error}");
                // The other participant keeps the guarantee even then.
                let pick = Pick::alternative(1).losing(Set::of::<Encrypted>());
                let error = one.upgrade(pick).await.unwrap_err();
                let text = error.to_string();
                assert!(text.contains(&format!("{:016x} refuses", two.id())), "{error}");
                assert!(text.contains("guarantees that this participant keeps: encrypted"), "{error}");
                assert!(two.explain().to_string().starts_with("Secret"));
            };
            let receiving = async { while one.recv().await.is_ok() {} };
            first_of(pin!(asking), pin!(join(listening, receiving))).await;
        });
    }
}
