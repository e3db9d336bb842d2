use super::own::set_alternative;
use super::record::{self, Presence, Proposal, Record};
use super::*;
use crate::rendezvous::limits;
use bertha_core::{Layer, Node};
use proptest::prelude::*;

fn layer(name: &'static str) -> Vec<Node> {
    vec![Node::Layer(Layer::plain(name, 1))]
}

fn choice(first: Vec<Node>, second: Vec<Node>, prefer: u8) -> Node {
    Node::Select { branches: [first, second], prefer }
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

#[test]
fn alternatives_are_set_wherever_they_are_nested() {
    let set = |choice, alternative, mut picks: [u8; 4]| {
        set_alternative(&nested(), choice, alternative, &mut picks);
        picks
    };
    // A choice within an alternative that is new gets its preferred one.
    assert_eq!(set(0, 1, [0, 0, 0, 0]), [1, 1, 0, 0]);
    assert_eq!(set(0, 1, [1, 0, 0, 0]), [1, 0, 0, 0]);
    assert_eq!(set(1, 0, [1, 1, 0, 0]), [1, 0, 0, 0]);
    // The last of three is the second of two within the second of two.
    assert_eq!(set(2, 2, [0, 0, 0, 0]), [0, 0, 1, 1]);
    assert_eq!(set(2, 1, [0, 0, 1, 1]), [0, 0, 1, 0]);
    assert_eq!(set(9, 1, [0, 0, 0, 0]), [0, 0, 0, 0]);
}

#[test]
fn a_policy_prefers_by_the_number_of_participants() {
    let policy = Policy::prefer(0, NumParticipantsAtMost(2)).of_choice(2);
    let own = OwnStack::new(nested(), vec![policy]).unwrap();
    assert_eq!(own.preferred(1), [0, 1, 0, 0]);
    assert_eq!(own.preferred(3), [0, 1, 1, 0]);
    assert_eq!(own.wish(&[0, 1, 0, 0], 2), None);
    assert_eq!(own.wish(&[0, 1, 0, 0], 3), Some(vec![0, 1, 1, 0]));
    assert_eq!(own.wish(&[0, 1, 1, 0], 2), Some(vec![0, 1, 0, 0]));
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

#[test]
fn other_versions_of_the_format_are_told_apart() {
    let presence = Presence { in_force: 1, accepted: 2, check: 3 };
    let mut bytes = record::encode(&presence).unwrap();
    assert_eq!(record::decode(&bytes), Ok(presence));
    bytes[0] = record::VERSION + 1;
    assert!(record::decode::<Presence>(&bytes).unwrap_err().contains("version 2"));
}

#[test]
fn consent_is_to_a_stack_and_not_to_its_number() {
    let (a, b) = (Description::of(&layer("a"), &[]).unwrap(), Description::of(&layer("b"), &[]).unwrap());
    let consent = Presence { in_force: 1, accepted: 2, check: a.check() };
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
