//! A ring against a queue, and against an end that writes arbitrary words.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod model;

use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

fn memory(layout: Layout) -> Vec<AtomicU64> {
    (0..layout.memory_bytes() / 8).map(|_| AtomicU64::new(0)).collect()
}

fn layout() -> Layout {
    Layout::new(4096).unwrap()
}

fn message(number: u64, len: usize) -> Vec<u8> {
    (0..len).map(|at| (number as usize * 7 + at) as u8 | 1).collect()
}

#[test]
fn sizes_are_checked() {
    for bytes in [0, 1, 2048, 4097, 6144, 128 << 20, usize::MAX] {
        assert_eq!(Layout::new(bytes), None, "{bytes}");
    }
    assert_eq!(layout().longest(), 504);
}

#[test]
fn the_two_rings_share_no_word() {
    let memory = memory(layout());
    let [one, other] = [Direction::FromClient, Direction::FromServer].map(|it| layout().ring(&memory, it));
    let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
    for number in 0..100 {
        assert!(sender.push(one, &message(number, 400)).unwrap());
        assert!(!sender.publish(one));
        assert!(receiver.pop(one).unwrap().is_some());
        let _ = receiver.release(one, true);
    }
    Consumer::fall_asleep(one);
    sender.await_room(one);
    Producer::end(one);
    let words: Vec<_> =
        other.data.iter().chain([other.released, other.asleep, other.wants_room, other.ended]).collect();
    assert!(words.iter().all(|word| word.load(Ordering::Relaxed) == 0));
}

#[test]
fn nothing_is_seen_before_it_is_published() {
    let memory = memory(layout());
    let ring = layout().ring(&memory, Direction::FromClient);
    let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
    for number in 0..5 {
        assert!(sender.push(ring, &message(number, 9)).unwrap());
        assert_eq!(receiver.pop(ring).map(|popped| popped.is_some()), Ok(false));
    }
    let _ = sender.publish(ring);
    for number in 0..5 {
        assert_eq!(&*receiver.pop(ring).unwrap().unwrap(), message(number, 9));
    }
}

#[test]
fn who_sleeps_is_woken_once() {
    let memory = memory(layout());
    let ring = layout().ring(&memory, Direction::FromClient);
    let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
    Consumer::fall_asleep(ring);
    let woken: Vec<_> =
        (0..3).map(|number| (sender.push(ring, &message(number, 8)), sender.publish(ring))).collect();
    assert_eq!(woken, [(Ok(true), true), (Ok(true), false), (Ok(true), false)]);
    while sender.push(ring, &message(0, 100)).unwrap() {}
    assert!(!sender.publish(ring));
    sender.await_room(ring);
    let mut woken = 0;
    while receiver.pop(ring).unwrap().is_some() {
        woken += u32::from(receiver.release(ring, false));
    }
    assert_eq!(woken, 1, "a producer that waits is woken once it has room");
}

/// Four of the longest messages wait without a pause of the sender, as the conformance suites permit.
#[test]
fn long_messages_fit_whatever_the_position() {
    let memory = memory(layout());
    let ring = layout().ring(&memory, Direction::FromClient);
    let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
    for number in 0..1000 {
        for _ in 0..4 {
            assert!(sender.push(ring, &message(number, 504)).unwrap());
        }
        let _ = sender.publish(ring);
        for _ in 0..4 {
            assert_eq!(&*receiver.pop(ring).unwrap().unwrap(), message(number, 504));
            let _ = receiver.release(ring, false);
        }
        assert!(sender.push(ring, &message(0, number as usize % 50)).unwrap());
        let _ = sender.publish(ring);
        receiver.pop(ring).unwrap().unwrap();
    }
}

proptest! {
    #[test]
    fn is_a_queue(steps in prop::collection::vec((any::<bool>(), 0..=504_usize, 1..5_usize), 0..400)) {
        let memory = memory(layout());
        let ring = layout().ring(&memory, Direction::FromServer);
        let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
        let (mut queue, mut number) = (VecDeque::new(), 0);
        for (sends, len, count) in steps {
            for _ in 0..count {
                if sends {
                    number += 1;
                    if sender.push(ring, &message(number, len)).unwrap() {
                        queue.push_back(message(number, len));
                    } else {
                        // At least a half is in use, or not released.
                        let bytes: usize = queue.iter().map(|it: &Vec<u8>| it.len() + 8).sum();
                        prop_assert!(bytes > 4096 / 2, "{bytes} bytes fill the ring");
                    }
                } else {
                    let popped = receiver.pop(ring).unwrap().map(|it| it.to_vec());
                    prop_assert_eq!(popped, queue.pop_front());
                    let _ = receiver.release(ring, false);
                }
            }
            let _ = sender.publish(ring);
        }
    }
}

#[test]
fn a_position_that_cannot_be_is_noticed() {
    for claimed in [0, 1, 100, 101, 509, 510, 511, 512, 1 << 32, 1 << 63, u64::MAX - 100, u64::MAX] {
        let memory = memory(layout());
        let ring = layout().ring(&memory, Direction::FromClient);
        let mut sender = Producer::default();
        // The messages have two words each, with a zero behind the last.
        assert_eq!((0..1000).take_while(|_| sender.push(ring, &[0; 8]).unwrap()).count(), 255);
        ring.released.store(101, Ordering::Relaxed);
        assert_eq!(sender.push(ring, &[0; 504]), Ok(true), "there is room in 101 words and two");
        // The producer has written 510 and 64 words.
        ring.released.store(claimed, Ordering::Relaxed);
        let pushed = sender.push(ring, &[0; 504]);
        match claimed {
            101..=574 => assert!(pushed.is_ok(), "{claimed}"),
            _ => assert_eq!(pushed, Err(Broken::Position(claimed))),
        }
    }
}

#[test]
fn a_length_that_cannot_be_is_noticed() {
    for header in [506, 507, 4096, 1 << 32, u64::MAX] {
        let memory = memory(layout());
        let ring = layout().ring(&memory, Direction::FromClient);
        ring.data[0].store(header, Ordering::Relaxed);
        for _ in 0..2 {
            let popped = Consumer::new(504).pop(ring).map(|it| it.is_some());
            assert_eq!(popped, Err(Broken::Length(header)));
        }
    }
}
