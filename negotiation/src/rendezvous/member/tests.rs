use super::record::{self, Presence, Proposal, Record};
use super::*;
use crate::rendezvous::store::limits;
use bertha_core::{Describe, Identity, LayerInfo, Node, NumParticipantsAtMost, Preference, select};
use proptest::prelude::*;
use std::sync::Arc;

mod play;

#[derive(Identity)]
struct A;
#[derive(Identity)]
struct B;
#[derive(Identity)]
struct C;

fn layer(name: &'static str) -> Vec<Node> {
    vec![Node::Layer(LayerInfo::plain(name, 1))]
}

fn choice(first: Vec<Node>, second: Vec<Node>, prefer: impl Into<Preference>) -> Node {
    Node::Select { branches: [first, second], prefer: prefer.into() }
}

/// `select!(a, select!(b, c; prefer 1) / d), select!(e, f, g)`.
fn nested() -> Vec<Node> {
    let mut inner = vec![choice(layer("b"), layer("c"), 1)];
    inner.extend(layer("d"));
    let three = choice(layer("e"), vec![choice(layer("f"), layer("g"), 0)], 0);
    vec![choice(layer("a"), inner, 0), three]
}

fn described(picks: &[u8]) -> String {
    Description::of(&nested(), picks).unwrap().to_string()
}

#[test]
fn a_description_tells_which_alternatives_make_it() {
    for (picks, text) in [
        ([0, 0, 0, 0], "a / e"),
        ([1, 0, 0, 0], "b / d / e"),
        ([1, 1, 1, 0], "c / d / f"),
        ([0, 0, 1, 1], "a / g"),
    ] {
        assert_eq!(described(&picks), text);
        assert_eq!(Description::of(&nested(), &picks).unwrap().picks_of(&nested()), Ok(picks.to_vec()));
    }
    let unknown = Description::of(&layer("h"), &[]).unwrap();
    assert!(unknown.picks_of(&nested()).unwrap_err().contains('h'));
}

/// `select!(a, b, c; prefer number if NumParticipantsAtMost(2))`.
fn one_of_three(number: usize) -> OwnStack {
    let stack = select!(A, B, C; prefer number if NumParticipantsAtMost(2));
    OwnStack::new(stack.nodes()).unwrap()
}

#[test]
fn an_alternative_is_preferred_while_its_condition_holds() {
    const PICKS: [[u8; 2]; 3] = [[0, 0], [1, 0], [1, 1]];
    for (number, other) in [(0, 1), (1, 0), (2, 0)] {
        let own = one_of_three(number);
        let stack = |picks: &[u8]| own.describe(picks).unwrap().to_string();
        for participants in 1..5 {
            let wanted = if participants <= 2 { number } else { other };
            assert_eq!(stack(&own.preferred(participants)), stack(&PICKS[wanted]));
            for in_use in PICKS {
                let reached = own.improvement(&in_use, participants).unwrap_or(in_use.to_vec());
                // Without the condition, any alternative but the no longer preferred alternative is right.
                if participants <= 2 || in_use == PICKS[number] {
                    assert_eq!(stack(&reached), stack(&PICKS[wanted]), "{number} {in_use:?}");
                } else {
                    assert_ne!(stack(&reached), stack(&PICKS[number]), "{number} {in_use:?}");
                }
                assert_eq!(
                    own.improvement(&reached, participants),
                    None,
                    "{number} {in_use:?} {participants}"
                );
            }
        }
    }
}

#[test]
fn a_choice_within_a_new_alternative_gets_its_preferred_one() {
    let few = Preference::branch(1).only_if(Arc::new(NumParticipantsAtMost(2)));
    let inner = choice(layer("b"), layer("c"), few);
    let own = OwnStack::new(vec![
        choice(layer("a"), vec![inner], Preference::branch(0).only_if(Arc::new(NumParticipantsAtMost(1)))),
        choice(layer("e"), layer("f"), 1),
    ]);
    let own = own.unwrap();
    assert_eq!(own.preferred(1), [0, 1, 1]);
    assert_eq!(own.improvement(&[0, 0, 0], 1), None, "what is preferred always is no reason to change");
    assert_eq!(own.improvement(&[0, 0, 0], 2), Some(vec![1, 1, 0]));
    assert_eq!(own.improvement(&[1, 1, 0], 3), Some(vec![1, 0, 0]));
    assert_eq!(own.improvement(&[1, 0, 0], 1), Some(vec![0, 0, 0]));
}

#[test]
fn the_largest_record_fits_into_an_entry() {
    let wide = |name: &'static str| {
        let deep: Vec<Node> = (0..2000).flat_map(|_| layer(name)).collect();
        Description::of(&deep[..500], &[]).unwrap()
    };
    let record = Record {
        life: u64::MAX,
        round: u64::MAX,
        stack: wide("a"),
        leader: u64::MAX,
        last: u64::MAX - 1,
        proposal: Some(Proposal { round: u64::MAX, proposer: u64::MAX, stack: wide("b") }),
        refusal: None,
    };
    let refused = record.refused(Some(u64::MAX), "\u{20ac}".repeat(10_000));
    assert!(refused.refusal.as_ref().is_some_and(|refusal| refusal.reason.len() <= 900));
    let full = Record { proposal: record.proposal.clone(), ..refused };
    let bytes = record::encode(&full).unwrap();
    assert!(bytes.len() <= limits::VALUE);
    assert_eq!(record::decode::<Record>(&bytes), Ok(full));
    assert_eq!(record.proposed(1, wide("c")), None, "rounds are used up");
}

/// A record of round 7, with other rounds that no participant reaches.
#[test]
fn rounds_that_no_participant_comes_to_are_told_from_others() {
    let stack = Description::of(&layer("a"), &[]).unwrap();
    let record =
        Record { life: 1, round: 7, stack: stack.clone(), leader: 1, last: 9, proposal: None, refusal: None };
    assert!(!record.is_far_ahead_of(5) && !record.is_beyond_reach());
    for far in [u64::MAX, u64::MAX - 1, 1 << 63] {
        let proposal = Some(Proposal { round: far, proposer: 1, stack: stack.clone() });
        for record in [
            Record { round: far, ..record.clone() },
            Record { last: far, ..record.clone() },
            Record { proposal, ..record.clone() },
        ] {
            assert!(record.is_far_ahead_of(7) && record.is_beyond_reach(), "{record:?}");
        }
    }
    let ahead = Record { last: 8 + (1 << 32), ..record };
    assert!(ahead.is_far_ahead_of(7) && !ahead.is_far_ahead_of(8) && !ahead.is_beyond_reach());
}

#[test]
fn other_versions_of_the_format_are_told_apart() {
    let presence = Presence { active: 1, accepted: 2, check: 3 };
    let mut bytes = record::encode(&presence).unwrap();
    assert_eq!(record::decode(&bytes), Ok(presence));
    bytes[0] = record::VERSION + 1;
    assert!(record::decode::<Presence>(&bytes).unwrap_err().contains("version 2"));
}

#[test]
fn consent_is_to_a_stack_and_not_to_its_number() {
    let (a, b) = (Description::of(&layer("a"), &[]).unwrap(), Description::of(&layer("b"), &[]).unwrap());
    let consent = Presence { active: 1, accepted: 2, check: a.check() };
    assert!(consent.has_accepted(2, &a) && consent.has_accepted(1, &b));
    assert!(!consent.has_accepted(2, &b) && !consent.has_accepted(3, &a));
}

#[test]
fn keys_name_participants() {
    for id in [0, 7, u64::MAX] {
        assert_eq!(record::participant_of(&record::presence_key(id)), Some(id));
    }
    for key in ["record", "participant/", "participant/7", "participant/00000000000000zz", "upgrade"] {
        assert_eq!(record::participant_of(key), None);
    }
}

proptest! {
    #[test]
    fn garbage_is_no_record(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = record::decode::<Presence>(&bytes);
        if let Ok(record) = record::decode::<Record>(&bytes) {
            let _ = (record.stack.to_string(), record.stack.picks_of(&nested()));
        }
    }
}
