//! The parts that need no network; whole stacks are tested in `tests/tests/groups/multi_endpoint`.

use super::Limits;
use super::arrivals::Arrivals;
use super::frame::{Frame, HEADER, Placed};
use bertha_core::{Buf, DropCounter};
use proptest::prelude::*;
use std::time::{Duration, Instant};

const LIMITS: Limits = Limits { capacity: 5, gap_timeout: Duration::from_millis(50) };

fn drain<T>(arrivals: &mut Arrivals<T>) -> Vec<T> {
    std::iter::from_fn(|| arrivals.pop()).collect()
}

#[test]
fn a_missing_message_holds_up_its_own_sequence_until_its_time_out() {
    let (mut arrivals, now) = (Arrivals::new(LIMITS, DropCounter::default()), Instant::now());
    arrivals.insert(now, 1, 1, "b");
    arrivals.insert(now, 2, 0, "x");
    assert_eq!(drain(&mut arrivals), ["x"]);
    let deadline = arrivals.deadline().unwrap();
    assert_eq!(deadline, now + LIMITS.gap_timeout);
    arrivals.expire(deadline - Duration::from_nanos(1));
    assert!(!arrivals.has_ready());
    arrivals.expire(deadline);
    assert_eq!((drain(&mut arrivals), arrivals.deadline()), (vec!["b"], None));
    arrivals.insert(now, 1, 0, "a");
    assert_eq!((drain(&mut arrivals), arrivals.dropped.get()), (vec![], 1));
}

#[test]
fn a_full_buffer_passes_over_what_is_missing() {
    let (mut arrivals, now) = (Arrivals::new(LIMITS, DropCounter::default()), Instant::now());
    for number in [9, 8, 7, 6] {
        arrivals.insert(now, 1, number, number);
    }
    assert!(!arrivals.has_ready());
    arrivals.insert(now, 1, 11, 11);
    assert_eq!(drain(&mut arrivals), [6, 7, 8, 9]);
    arrivals.flush(now);
    assert_eq!(drain(&mut arrivals), [11]);
}

#[test]
fn there_are_no_more_sequences_than_are_kept() {
    let (mut arrivals, now) = (Arrivals::new(LIMITS, DropCounter::default()), Instant::now());
    for sender in 0..5_000 {
        arrivals.insert(now, sender, 3, sender);
    }
    arrivals.flush(now);
    let kept = drain(&mut arrivals).len() as u64;
    assert!(kept <= 1_024 && arrivals.dropped.get() + kept == 5_000, "{kept}");
}

#[test]
fn headers_are_read_as_they_were_written_and_garbage_is_none() {
    for place in [None, Some(0), Some(7)] {
        let placed = Placed { sender: u64::MAX, number: 3, place };
        let mut bytes = placed.to_bytes().to_vec();
        bytes.extend(b"payload");
        let frame = Frame::parse(Buf::copy_of(&bytes, 0).unwrap()).unwrap();
        assert_eq!((frame.placed, &*frame.payload), (placed, &b"payload"[..]));
    }
    assert!(Frame::parse(Buf::copy_of(&[0; HEADER - 1], 0).unwrap()).is_none());
    assert!(Frame::parse(Buf::copy_of(&[255; HEADER], 0).unwrap()).is_none());
}

proptest! {
    #[test]
    fn any_order_becomes_that_of_each_sender(
        order in Just(Vec::from_iter((0..40_u64).map(|it| (it % 3, it / 3)))).prop_shuffle(),
    ) {
        let limits = Limits { capacity: 100, ..LIMITS };
        let (mut arrivals, now) = (Arrivals::new(limits, DropCounter::default()), Instant::now());
        for (sender, number) in &order {
            arrivals.insert(now, *sender, *number, (*sender, *number));
        }
        let got = drain(&mut arrivals);
        prop_assert_eq!(got.len(), order.len());
        for sender in 0..3 {
            let numbers = got.iter().filter(|it| it.0 == sender).map(|it| it.1);
            prop_assert!(numbers.clone().eq(0..numbers.count() as u64));
        }
    }

    #[test]
    fn with_loss_what_comes_is_in_order_and_bounded(numbers in prop::collection::vec(0..60_u64, 0..150)) {
        let (mut arrivals, now) = (Arrivals::new(LIMITS, DropCounter::default()), Instant::now());
        let mut got = Vec::new();
        for number in numbers {
            arrivals.insert(now, 1, number, number);
            got.extend(drain(&mut arrivals));
        }
        prop_assert!(got.windows(2).all(|two| two[0] < two[1]));
    }
}
