//! Vectors and strings against those of the standard library.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use super::super::tests::{heap, is_free};
use super::super::{Heap, String, Vec};
use proptest::prelude::*;
use std::fmt::Write;

#[derive(Debug, Clone)]
enum Step {
    Push(u16),
    Pop,
    Insert(usize, u16),
    Remove(usize),
    SwapRemove(usize),
    Truncate(usize),
    Extend(std::vec::Vec<u16>),
    Reserve(usize),
    Resize(usize, u16),
    Append(std::vec::Vec<u16>),
    Retain(u16),
    Dedup(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let place = any::<usize>;
    prop_oneof![
        4 => any::<u16>().prop_map(Step::Push),
        1 => Just(Step::Pop),
        2 => (place(), any::<u16>()).prop_map(|(at, value)| Step::Insert(at, value)),
        1 => place().prop_map(Step::Remove),
        1 => place().prop_map(Step::SwapRemove),
        1 => (0..200_usize).prop_map(Step::Truncate),
        2 => proptest::collection::vec(any::<u16>(), 0..40).prop_map(Step::Extend),
        1 => (0..100_usize).prop_map(Step::Reserve),
        1 => (0..100_usize, any::<u16>()).prop_map(|(len, value)| Step::Resize(len, value)),
        1 => proptest::collection::vec(any::<u16>(), 0..40).prop_map(Step::Append),
        1 => (2..5_u16).prop_map(Step::Retain),
        1 => (2..5_u16).prop_map(Step::Dedup),
    ]
}

/// Applies a step to both vectors, whose results have to be equal.
fn apply(step: Step, heap: &Heap, ours: &mut Vec<u16>, std: &mut std::vec::Vec<u16>) {
    let len = std.len();
    match step {
        Step::Push(value) => (ours.push(value), std.push(value)).0,
        Step::Pop => assert_eq!(ours.pop(), std.pop()),
        Step::Insert(at, value) => (ours.insert(at % (len + 1), value), std.insert(at % (len + 1), value)).0,
        Step::Remove(at) if len > 0 => assert_eq!(ours.remove(at % len), std.remove(at % len)),
        Step::SwapRemove(at) if len > 0 => assert_eq!(ours.swap_remove(at % len), std.swap_remove(at % len)),
        Step::Remove(_) | Step::SwapRemove(_) => {}
        Step::Truncate(len) => (ours.truncate(len), std.truncate(len)).0,
        Step::Extend(values) => (ours.extend_from_slice(&values), std.extend_from_slice(&values)).0,
        Step::Resize(len, value) => (ours.resize(len, value), std.resize(len, value)).0,
        Step::Append(mut values) => {
            let mut more = Vec::new_in(heap);
            more.extend_from_slice(&values);
            ours.append(&mut more);
            std.append(&mut values);
            assert!(more.is_empty());
        }
        Step::Retain(by) => (ours.retain(|it| it % by == 0), std.retain(|it| it % by == 0)).0,
        // Most neighbours are equal then.
        Step::Dedup(by) => {
            ours.iter_mut().chain(std.iter_mut()).for_each(|it| *it %= by);
            ours.dedup();
            std.dedup();
        }
        Step::Reserve(more) => {
            ours.reserve(more);
            assert!(ours.capacity() >= len + more);
        }
    }
}

proptest! {
    #[test]
    fn a_vector_does_what_that_of_the_standard_library_does(steps in proptest::collection::vec(step(), 0..200)) {
        let (heap, _daemon) = heap(1 << 20);
        let (mut ours, mut std) = (Vec::new_in(&heap), std::vec::Vec::new());
        for step in steps {
            apply(step, &heap, &mut ours, &mut std);
            assert_eq!(ours, std[..]);
            assert_eq!((ours.len(), ours.is_empty()), (std.len(), std.is_empty()));
        }
        drop(ours);
        prop_assert!(heap.granted() == 0 || is_free(&heap));
    }
}

#[test]
fn a_vector_is_used_as_a_slice() {
    let (heap, _daemon) = heap(1 << 20);
    let mut vector = Vec::new_in(&heap);
    assert_eq!(vector, [0_u8; 0]);
    vector.extend([3, 1, 2]);
    vector.sort_unstable();
    for element in &mut vector {
        *element *= 2;
    }
    vector[0] = 9;
    assert_eq!((&vector).into_iter().sum::<u8>(), 19);
    assert_eq!((format!("{vector:?}"), vector.as_ref()), ("[9, 4, 6]".into(), &[9, 4, 6][..]));
    assert!(vector == [9, 4, 6][..] && vector != [9, 4] && vector == vector);
}

#[test]
fn a_vector_begins_without_memory() {
    let (heap, _daemon) = heap(1 << 20);
    let vector = Vec::<u64>::new_in(&heap);
    assert_eq!((vector.capacity(), heap.granted()), (0, 0));
    assert_eq!(Vec::<u64>::with_capacity_in(5, &heap).capacity(), 5);
}

#[test]
#[should_panic(expected = "there is no place 2 among 1 elements")]
fn an_insertion_behind_the_end_panics() {
    let (heap, _daemon) = heap(1 << 20);
    let mut vector = Vec::new_in(&heap);
    vector.push(1);
    vector.insert(2, 2);
}

#[test]
#[should_panic(expected = "mid <= self.len()")]
fn a_removal_at_the_end_panics() {
    let (heap, _daemon) = heap(1 << 20);
    Vec::<u8>::new_in(&heap).remove(0);
}

#[test]
fn a_string_does_what_that_of_the_standard_library_does() {
    let (heap, _daemon) = heap(1 << 20);
    let (mut ours, mut std) = (String::new_in(&heap), std::string::String::new());
    for character in "añ→𝄞".chars() {
        ours.push(character);
        std.push(character);
        assert_eq!(ours, *std);
    }
    write!(ours, "{}-{:?}", 17, "x").unwrap();
    write!(std, "{}-{:?}", 17, "x").unwrap();
    assert_eq!((format!("{ours}"), format!("{ours:?}")), (std.clone(), format!("{std:?}")));
    ours.truncate(100);
    ours.truncate(10);
    std.truncate(10);
    for _ in 0..5 {
        assert_eq!((ours.pop(), ours.len()), (std.pop(), std.len()));
    }
    assert_eq!((ours.pop(), ours.is_empty()), (None, true));
    let mut text = String::from_str_in("text", &heap);
    assert!(text == "text" && &*text == text.as_ref());
    text.clear();
    assert_eq!(text, "");
}

#[test]
#[should_panic(expected = "no character ends at byte 1")]
fn a_string_is_not_cut_within_a_character() {
    let (heap, _daemon) = heap(1 << 20);
    String::from_str_in("ä", &heap).truncate(1);
}
