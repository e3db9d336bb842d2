//! The lives of heaps, values and memory.
#![allow(unsafe_code)]

use super::super::*;
use super::{Daemon, MIB, heap, is_free};
use parking_lot::Mutex;
use std::sync::Arc;

fn words(heap: &Heap, count: u64) -> Vec<u64> {
    let mut words = Vec::new_in(heap);
    words.extend(0..count);
    words
}

#[test]
fn values_outlive_the_handles() {
    let (heap, daemon) = heap(MIB);
    let (mut empty, boxed, text) =
        (Vec::new_in(&heap), Box::new_in(words(&heap, 100), &heap), String::new_in(&heap));
    drop(heap);
    // The empty vector finds the heap, too.
    empty.push(boxed.len() as u32);
    drop(boxed);
    assert_eq!(empty, [100]);
    drop(empty);
    assert_eq!(Arc::strong_count(&daemon), 2, "the heap lives as long as a value");
    drop(text);
    assert_eq!(Arc::strong_count(&daemon), 1, "the heap has ended with the last value");
}

#[test]
fn values_move_between_threads() {
    let (heap, daemon) = heap(4 * MIB);
    let threads = (0..4).map(|number| {
        let heap = heap.clone();
        std::thread::spawn(move || {
            (0..200).map(|len| words(&heap, (len * 7 + number) % 300)).collect::<std::vec::Vec<_>>()
        })
    });
    let made: std::vec::Vec<_> =
        threads.collect::<std::vec::Vec<_>>().into_iter().map(|it| it.join().unwrap()).collect();
    for (number, vectors) in made.iter().enumerate() {
        for (len, words) in vectors.iter().enumerate() {
            assert!(words.iter().copied().eq(0..((len * 7 + number) % 300) as u64));
        }
    }
    let freer = std::thread::spawn(move || drop(made));
    freer.join().unwrap();
    assert!(is_free(&heap));
    drop(heap);
    assert_eq!(Arc::strong_count(&daemon), 1);
}

#[test]
fn elements_are_dropped_once() {
    let (heap, _daemon) = heap(MIB);
    let element = Arc::new(());
    let mut vector = Vec::new_in(&heap);
    vector.extend((0..10).map(|_| element.clone()));
    vector.truncate(8);
    assert_eq!(Arc::strong_count(&element), 9);
    drop((vector.pop(), vector.remove(0), vector.swap_remove(0)));
    assert_eq!(Arc::strong_count(&element), 6);
    let boxed = Box::new_in(element.clone(), &heap);
    assert_eq!(Arc::strong_count(&element), 7);
    let inner = Box::into_inner(boxed);
    drop((vector, inner));
    assert_eq!(Arc::strong_count(&element), 1);
    drop(Box::new_in(element.clone(), &heap));
    assert_eq!(Arc::strong_count(&element), 1);
    assert!(is_free(&heap));
}

#[test]
fn freed_memory_is_used_again() {
    let (heap, _daemon) = heap(64 * MIB);
    for round in 0..10_000_u64 {
        let nested = Box::new_in(words(&heap, round % 3000), &heap);
        let text = String::from_str_in("ten rounds", &heap);
        drop((nested, text));
        assert_eq!(heap.granted(), MIB, "round {round}");
    }
    assert!(is_free(&heap));
}

#[test]
fn a_spent_quota_is_told() {
    let (heap, _daemon) = heap(MIB);
    let mut words = words(&heap, 10);
    assert_eq!(words.try_reserve(MIB), Err(Full));
    assert_eq!(words.try_reserve(usize::MAX), Err(Full));
    assert_eq!(words.try_reserve(u32::MAX as usize), Err(Full));
    let mut text = String::from_str_in("text", &heap);
    assert_eq!(text.try_reserve(MIB), Err(Full));
    assert_eq!(std::fmt::Write::write_str(&mut text, &"x".repeat(MIB)), Err(std::fmt::Error));
    assert_eq!((&words[..], text.as_str()), (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..], "text"));
    // The two values have a page each.
    let rest: Vec<u8> = Vec::with_capacity_in(MIB - 2 * 65_536, &heap);
    assert_eq!(Box::try_new_in([0_u8; 1000], &heap), Err(Full));
    drop((words, text, rest));
    assert!(is_free(&heap));
}

#[test]
fn a_vector_takes_what_it_needs_where_twice_as_much_is_missing() {
    let (heap, _daemon) = heap(MIB);
    let mut bytes = Vec::with_capacity_in(MIB / 8 * 3, &heap);
    bytes.extend_from_slice(&[7_u8; MIB / 8 * 3]);
    bytes.push(8);
    assert_eq!((bytes.capacity(), bytes.last()), (MIB / 8 * 3 + 1, Some(&8)));
    assert!(bytes[..MIB / 8 * 3].iter().all(|byte| *byte == 7));
}

#[test]
fn a_daemon_that_grants_nothing_leaves_the_heap_as_it_is() {
    let daemon = Daemon::granting(MIB);
    let heap = Heap::new(16 * MIB, daemon.clone()).unwrap();
    let mut words = words(&heap, 1000);
    assert_eq!(words.try_reserve(MIB), Err(Full));
    *daemon.left.lock() = 16 * MIB;
    assert_eq!(words.try_reserve(MIB / 8), Ok(()));
    assert!(words.iter().copied().eq(0..1000));
}

#[test]
fn a_heap_that_may_not_double_takes_what_it_needs() {
    let daemon = Daemon::granting(2 * MIB + MIB / 2);
    let heap = Heap::new(16 * MIB, daemon.clone()).unwrap();
    let first = Vec::<u8>::with_capacity_in(MIB, &heap);
    let boxed = Box::try_new_in(7, &heap).unwrap();
    assert_eq!((*boxed, heap.granted()), (7, MIB + 65_536));
    drop((first, boxed));
    assert!(is_free(&heap));
}

#[test]
fn a_heap_is_not_locked_while_an_error_of_its_source_is_dropped() {
    #[derive(Debug)]
    struct Kept(#[expect(dead_code, reason = "its drop uses the heap")] String);
    impl std::fmt::Display for Kept {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the text goes back to its heap")
        }
    }
    impl std::error::Error for Kept {}
    struct Failing(Arc<Daemon>, Arc<Mutex<Option<String>>>);
    // SAFETY: each region is a new file, which the daemon only reads.
    unsafe impl Source for Failing {
        fn region(&self, bytes: usize) -> std::io::Result<std::os::fd::OwnedFd> {
            let text = self.1.lock().take();
            text.map_or_else(|| self.0.region(bytes), |text| Err(std::io::Error::other(Kept(text))))
        }
    }
    let (daemon, kept) = (Daemon::granting(MIB), Arc::default());
    let heap = Heap::new(4 * MIB, Failing(daemon, Arc::clone(&kept))).unwrap();
    *kept.lock() = Some(String::from_str_in("text", &heap));
    assert_eq!(Vec::<u8>::new_in(&heap).try_reserve(MIB), Ok(()), "the text made room");
    assert!(is_free(&heap));
}

#[test]
fn a_drop_that_panics_gives_memory_back() {
    struct Bomb(bool);
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(!self.0, "the value's drop panics");
        }
    }
    fn explode(value: impl Sized) {
        let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(value)));
        assert!(dropped.is_err());
    }
    let (heap, daemon) = heap(MIB);
    explode(Box::new_in(Bomb(true), &heap));
    let mut bombs = Vec::new_in(&heap);
    bombs.extend([Bomb(false), Bomb(true)]);
    explode(bombs);
    assert!(is_free(&heap));
    drop(heap);
    // The test and no heap.
    assert_eq!(Arc::strong_count(&daemon), 1);
}

#[test]
fn a_region_of_another_size_is_not_taken() {
    struct Miser(Arc<Daemon>);
    // SAFETY: each region is a new file, which the daemon only reads.
    unsafe impl Source for Miser {
        fn region(&self, bytes: usize) -> std::io::Result<std::os::fd::OwnedFd> {
            self.0.region(bytes / 2)
        }
    }
    let heap = Heap::new(MIB, Miser(Daemon::granting(MIB))).unwrap();
    assert_eq!(Box::try_new_in(7, &heap), Err(Full));
}

#[test]
fn a_push_without_room_panics_and_loses_nothing() {
    let (heap, _daemon) = heap(MIB);
    let element = Arc::new(());
    let mut full = Vec::with_capacity_in(MIB / 8, &heap);
    full.extend((0..MIB / 8).map(|_| element.clone()));
    let pushed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| full.push(element.clone())));
    assert_eq!(*pushed.unwrap_err().downcast::<std::string::String>().unwrap(), "the heap has no room");
    assert_eq!((full.len(), Arc::strong_count(&element)), (MIB / 8, MIB / 8 + 1));
    drop(full);
    assert_eq!(Arc::strong_count(&element), 1);
    assert!(is_free(&heap));
}

#[test]
#[should_panic(expected = "the heap has no room")]
fn a_box_without_room_panics() {
    let (heap, _daemon) = heap(0);
    Box::new_in(7, &heap);
}
