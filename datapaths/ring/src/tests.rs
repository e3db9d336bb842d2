//! A ring against a queue, and against an end that writes arbitrary words.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod cursor;
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
    assert_eq!((layout().longest(), layout().memory_bytes()), (504, 12_288));
    for (bytes, largest) in
        [(0, 4096), (4096, 4096), (8191, 4096), (8192, 8192), (100_000, 65_536), (usize::MAX, 64 << 20)]
    {
        assert_eq!(Layout::at_most(bytes).ring_bytes(), largest, "{bytes}");
    }
}

/// An end that writes one of these words takes the cache line away from no end that reads another.
#[test]
fn each_word_of_control_has_a_cache_line_of_its_own() {
    const LINE: usize = 64;
    let memory = memory(layout());
    let [one, other] = [Direction::FromClient, Direction::FromServer].map(|it| layout().ring(&memory, it));
    let words =
        [one, other].into_iter().flat_map(|ring| [ring.released, ring.asleep, ring.wants_room, ring.ended]);
    let places: Vec<_> = words.map(|word| std::ptr::from_ref(word).addr()).collect();
    let near = places.windows(2).find(|pair| pair[1] - pair[0] < LINE);
    assert_eq!(near, None);
}

#[test]
fn the_end_is_seen_once_it_is_said() {
    let memory = memory(layout());
    let [one, other] = [Direction::FromClient, Direction::FromServer].map(|it| layout().ring(&memory, it));
    assert!(!Consumer::is_ended(one));
    Producer::end(one);
    assert!(Consumer::is_ended(one) && !Consumer::is_ended(other));
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

#[test]
fn an_end_that_sleeps_says_so_until_it_is_woken() {
    let memory = memory(layout());
    let ring = layout().ring(&memory, Direction::FromClient);
    let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
    assert!(!Consumer::is_asleep(ring) && !Producer::is_waiting(ring));
    Consumer::fall_asleep(ring);
    assert!(Consumer::is_asleep(ring));
    assert!(sender.push(ring, &message(0, 8)).unwrap() && sender.publish(ring));
    assert!(!Consumer::is_asleep(ring));
    sender.await_room(ring);
    assert!(Producer::is_waiting(ring));
    assert!(receiver.pop(ring).unwrap().is_some() && receiver.release(ring, true));
    assert!(!Producer::is_waiting(ring));
}

#[test]
fn a_message_is_there_from_its_publication_until_it_is_read() {
    let memory = memory(layout());
    let ring = layout().ring(&memory, Direction::FromClient);
    let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
    assert!(!receiver.has_message(ring));
    assert!(sender.push(ring, &message(0, 8)).unwrap());
    assert!(!receiver.has_message(ring), "it was not published");
    let _ = sender.publish(ring);
    assert!(receiver.has_message(ring));
    receiver.pop(ring).unwrap().unwrap();
    assert!(!receiver.has_message(ring));
}

#[test]
fn messages_and_bytes_in_the_ring_are_counted_whatever_a_peer_writes() {
    let memory = memory(layout());
    let ring = layout().ring(&memory, Direction::FromClient);
    let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
    assert_eq!((sender.filled(ring), receiver.waiting(ring, 9)), (0, (0, 0)));
    for len in [0, 1, 8, 9] {
        assert!(sender.push(ring, &message(1, len)).unwrap());
    }
    assert_eq!(receiver.waiting(ring, 9), (0, 0), "they are not published");
    assert!(!sender.publish(ring));
    assert_eq!((sender.filled(ring), receiver.waiting(ring, 9)), (64, (4, 64)));
    assert_eq!(receiver.waiting(ring, 2), (2, 24));
    receiver.pop(ring).unwrap().unwrap();
    assert_eq!((sender.filled(ring), receiver.waiting(ring, 9)), (64, (3, 56)));
    assert!(!receiver.release(ring, true));
    assert_eq!(sender.filled(ring), 56);
    // Positions that cannot be, and a ring whose headers have no end.
    ring.released.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(sender.filled(ring), 0);
    ring.data.iter().for_each(|word| word.store(1, Ordering::Relaxed));
    assert_eq!(receiver.waiting(ring, u64::MAX), (512, 4096));
    ring.data.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
    assert_eq!(receiver.waiting(ring, u64::MAX), (0, 0));
}

#[test]
fn words_are_released_by_eighths_of_the_ring_or_at_once() {
    let memory = memory(layout());
    let ring = layout().ring(&memory, Direction::FromClient);
    let (mut sender, mut receiver) = (Producer::default(), Consumer::new(504));
    let released = || ring.released.load(Ordering::Relaxed);
    // A message takes eight words, and an eighth of the ring has 64.
    let mut pass_on = |count| {
        for number in 0..count {
            assert!(sender.push(ring, &message(number, 56)).unwrap());
            let _ = sender.publish(ring);
        }
    };
    let read = |receiver: &mut Consumer, count| {
        (0..count).for_each(|_| assert!(receiver.pop(ring).unwrap().is_some()));
    };
    pass_on(17);
    Producer::default().await_room(ring);
    read(&mut receiver, 7);
    assert!(!receiver.release(ring, false));
    assert_eq!(released(), 0, "less than an eighth");
    read(&mut receiver, 1);
    assert!(receiver.release(ring, false), "the producer waits");
    assert_eq!(released(), 64, "an eighth");
    read(&mut receiver, 7);
    assert!(!receiver.release(ring, false));
    assert_eq!(released(), 64, "less than a further eighth");
    read(&mut receiver, 2);
    Producer::default().await_room(ring);
    assert!(receiver.release(ring, false));
    assert_eq!(released(), 136, "more than a further eighth");
    pass_on(1);
    read(&mut receiver, 1);
    assert!(!receiver.release(ring, true), "nobody waits");
    assert_eq!(released(), 144, "at once");
    Producer::default().await_room(ring);
    assert!(!receiver.release(ring, true), "nothing is new");
    assert_eq!(ring.wants_room.load(Ordering::Relaxed), 1);
}

#[test]
fn a_violation_names_the_word_of_the_peer() {
    assert_eq!(Broken::Length(7777).to_string(), "it announced a message by the header 7777");
    assert_eq!(Broken::Position(8888).to_string(), "it claimed to have received up to word 8888");
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
