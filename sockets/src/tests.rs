//! Both ends over a pretended carrier, in every order of their steps.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod pair;
mod places;
mod recall;
mod severed;

use super::*;
use pair::{Pair, byte};
use proptest::prelude::*;

/// A step of one of the two ends, or between the two halves of one.
#[derive(Debug, Clone)]
enum Step {
    Enter,
    Leave,
    Write(usize),
    /// Reads at most so many bytes. The writer takes the other steps while the reader has looked at the carrier and taken nothing.
    Read(usize, Vec<Step>),
    /// Looks at everything that was written, and takes nothing.
    Peek,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let writer =
        || prop_oneof![Just(Step::Enter), Just(Step::Leave), (1..900_usize).prop_map(Step::Write)].boxed();
    let read = (1..2000_usize, prop::collection::vec(writer(), 0..4))
        .prop_map(|(most, within)| Step::Read(most, within));
    let step = prop_oneof![3 => writer(), 3 => read, 1 => Just(Step::Peek)];
    prop::collection::vec(step, 1..300)
}

fn take(pair: &mut Pair, step: Step) {
    match step {
        Step::Enter => drop(pair.enter()),
        Step::Leave => pair.leave(),
        Step::Write(bytes) => pair.write(bytes),
        Step::Read(most, within) => {
            pair.read(most, |pair| within.into_iter().for_each(|step| take(pair, step)))
        }
        Step::Peek => pair.peek(),
    }
}

proptest! {
    /// Bytes come once and in order, wherever the stream moves.
    #[test]
    fn no_byte_is_lost_or_repeated(steps in steps()) {
        let mut pair = Pair::new();
        steps.into_iter().for_each(|step| take(&mut pair, step));
        pair.read_all();
        prop_assert_eq!(pair.read, pair.written);
    }

    /// A receiver that asks for the stream back gets the rest of it from the carrier.
    #[test]
    fn a_recalled_stream_goes_on_where_it_was(before in steps(), after in steps(), room in 1..700_usize) {
        let mut pair = Pair::new();
        before.into_iter().for_each(|step| take(&mut pair, step));
        pair.recall(room);
        after.into_iter().for_each(|step| take(&mut pair, step));
        pair.read_raw();
        prop_assert_eq!(pair.read, pair.written);
        prop_assert!(!pair.enter());
    }

    /// Whatever the other end writes into the memory, an end ends its steps, and copies no more than it was asked for.
    #[test]
    fn arbitrary_words_do_no_harm(
        steps in prop::collection::vec((any::<bool>(), 0..1000_usize, 0..5_u64, any::<u64>()), 1..200),
    ) {
        let mut pair = Pair::new();
        pair.enter();
        for (is_read, place, kind, value) in steps {
            pair.scribble(place, [0, 1, value % 600, value, u64::MAX][kind as usize]);
            pair.step_without_trust(is_read, place);
        }
    }
}

/// A thousand moves in each direction, with the bytes of each stage.
#[test]
fn a_thousand_moves_lose_nothing() {
    let mut pair = Pair::new();
    for round in 0..1000 {
        pair.write(1 + round % 50);
        assert!(pair.enter());
        pair.write(1 + round % 70);
        pair.leave();
        pair.write(1 + round % 30);
        pair.read_all();
    }
    assert_eq!((pair.sender.moves(), pair.receiver.moves()), (2000, 2000));
    assert_eq!(pair.read, pair.written);
}

/// The two ends in threads of their own, over a carrier with a lock as the kernel's.
#[test]
fn ends_in_two_threads_agree() {
    pair::run_threads(2_000);
}

#[test]
fn an_edge_is_told_once() {
    let mut pair = Pair::new();
    let mut edge = Edge::default();
    assert!(pair.enter());
    assert!(!pair.is_new(&mut edge));
    pair.write(10);
    assert!(pair.is_new(&mut edge) && !pair.is_new(&mut edge));
    pair.write(10);
    pair.read(5, |_| ());
    assert!(pair.is_new(&mut edge) && !pair.is_new(&mut edge));
    pair.read(100, |_| ());
    assert!(!pair.is_new(&mut edge));
    pair.write(1);
    assert!(pair.is_new(&mut edge));
}

#[test]
fn a_sleeper_is_rung_for_once() {
    let mut pair = Pair::new();
    assert!(pair.enter());
    // A receiver sleeps from the beginning.
    pair.write(1);
    pair.write(1);
    assert_eq!(pair.bells, 1);
    assert!(!pair.fall_asleep());
    pair.read_all();
    assert!(pair.fall_asleep());
    pair.write(1);
    assert_eq!(pair.bells, 2);
    assert_eq!(byte(0), 0);
}

#[test]
fn a_reader_sleeps_while_bytes_before_the_ring_are_on_their_way() {
    let mut pair = Pair::new();
    pair.write(100);
    let delayed = pair.delay();
    assert!(pair.enter());
    pair.write(10);
    // The move back is seen by a reader that has not followed the move before it.
    pair.leave();
    assert!(pair.fall_asleep());
    pair.deliver(delayed);
    pair.read(100, |_| ());
    assert!(!pair.fall_asleep());
    pair.read_all();
    assert_eq!(pair.read, pair.written);
    assert!(pair.fall_asleep());
}

#[test]
fn the_toll_is_paid_by_messages_or_bytes() {
    let toll = Toll::default();
    assert!((1..MESSAGES).all(|_| !toll.pays(1)) && toll.pays(1) && !toll.pays(1));
    let toll = Toll::default();
    assert!(!toll.pays(BYTES as usize - 1) && toll.pays(1));
}
