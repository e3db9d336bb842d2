//! An application reads what a daemon lends.
#![allow(unsafe_code)]

use super::super::layout::PAGE;
use super::super::*;
use super::MIB;

/// Returns a heap at both ends.
fn ends(quota: usize) -> (Lent, Received) {
    let received = Received::new(quota).unwrap();
    (Lent::new(received.base(), quota).unwrap(), received)
}

fn pass_regions(lent: &mut Lent, received: &Received) {
    for region in lent.take_new_regions() {
        received.add(region.file().try_clone_to_owned().unwrap()).unwrap();
    }
}

/// Lends a message of these bytes, and returns its identifier and its address.
fn lend(lent: &mut Lent, bytes: &[u8]) -> (u32, u64) {
    let mut message = lent.begin(bytes.len()).unwrap();
    let at = message.put(bytes).unwrap();
    (message.finish(), at)
}

#[repr(C)]
struct Row {
    numbers: Vec<u32>,
    text: String,
    none: Vec<u64>,
    inner: Option<Box<u64>>,
    missing: Option<Box<u64>>,
}

#[test]
fn a_message_is_read_in_place() {
    let (mut lent, received) = ends(MIB);
    let mut message = lent.begin(0).unwrap();
    let at = message.reserve(size_of::<Row>()).unwrap();
    let (numbers, text) = (message.put(&[1, 0, 0, 0, 2, 0, 0, 0]).unwrap(), message.put(b"text").unwrap());
    let inner = message.put(&7_u64.to_le_bytes()).unwrap();
    let row = |at: u64, len: u64| [at.to_le_bytes(), (len << 32 | len).to_le_bytes()].concat();
    message.bytes(at, 16).copy_from_slice(&row(numbers, 2));
    message.bytes(at + 16, 16).copy_from_slice(&row(text, 4));
    message.bytes(at + 48, 8).copy_from_slice(&inner.to_le_bytes());
    let id = message.finish();
    pass_regions(&mut lent, &received);
    // SAFETY: the message was written above, is lent, and is given back below.
    let read = unsafe { received.get::<Row>(at) }.unwrap();
    assert_eq!(read.numbers, [1, 2]);
    assert_eq!(read.text, "text");
    assert!(read.none.is_empty() && read.none.as_slice().is_empty(), "without an address");
    assert_eq!(read.inner.as_deref(), Some(&7));
    assert!(read.missing.is_none());
    assert!(lent.free(id));
}

#[test]
fn addresses_of_a_received_heap_are_checked() {
    let (mut lent, received) = ends(MIB);
    let (_, at) = lend(&mut lent, &[1; 64]);
    // SAFETY: nothing is mapped, so nothing is returned.
    assert_eq!(unsafe { received.get::<u64>(at) }, None);
    pass_regions(&mut lent, &received);
    let end = received.base() + 65_536 + MIB as u64;
    for wrong in [0, received.base(), at + 1, at + 4, end - 4, end, !7, u64::MAX] {
        // SAFETY: nothing is returned.
        assert_eq!(unsafe { received.get::<u64>(wrong) }, None, "{wrong:#x}");
    }
    // SAFETY: the message is lent, and any bytes are numbers.
    assert_eq!(unsafe { received.get::<[u64; 8]>(at) }, Some(&[0x0101_0101_0101_0101; 8]));
}

#[test]
fn a_received_heap_keeps_to_its_quota() {
    let received = Received::new(MIB).unwrap();
    let region = |bytes| Region::writable(bytes).unwrap().file().try_clone_to_owned().unwrap();
    assert!(received.add(region(2 * MIB)).is_err());
    received.add(region(MIB)).unwrap();
    assert!(received.add(region(65_536)).is_err());
    assert_eq!(received.granted(), MIB);
}

#[test]
fn reservations_are_apart_aligned_and_zero() {
    let (mut lent, _received) = ends(16 * MIB);
    // What earlier messages leave behind.
    let old = lend(&mut lent, &[0xff; 3 * MIB]).0;
    assert!(lent.free(old));
    let mut message = lent.begin(0).unwrap();
    let sizes = [0, 1, 7, 8, 9, 0, 200, 3000, 100_000, 1, MIB];
    let places = sizes.map(|bytes| message.reserve(bytes).unwrap());
    for (number, (at, bytes)) in places.into_iter().zip(sizes).enumerate() {
        assert!(at.is_multiple_of(8));
        assert!(
            message.bytes(at, bytes).iter().all(|byte| *byte == 0),
            "{bytes} bytes overlap others, or are not cleared"
        );
        message.bytes(at, bytes).fill(number as u8 + 1);
    }
    for (number, (at, bytes)) in places.into_iter().zip(sizes).enumerate() {
        assert!(message.bytes(at, bytes).iter().all(|byte| *byte == number as u8 + 1));
    }
    assert_eq!(places.into_iter().collect::<std::collections::BTreeSet<_>>().len(), sizes.len());
}

#[test]
fn copied_bytes_are_padded_with_zeros() {
    let (mut lent, _received) = ends(MIB);
    let old = lend(&mut lent, &[0xff; 256]).0;
    assert!(lent.free(old));
    let mut message = lent.begin(0).unwrap();
    let at = message.put(b"abc").unwrap();
    assert_eq!(message.bytes(at, 8), b"abc\0\0\0\0\0");
}

#[test]
fn messages_come_back_once() {
    let (mut lent, _received) = ends(MIB);
    let (first, at) = lend(&mut lent, b"first");
    assert!(lent.free(first) && !lent.free(first));
    let (second, again) = lend(&mut lent, b"second");
    assert_eq!(again, at, "the memory is used again");
    for stale in [first, !second, second + 1, u32::MAX] {
        assert!(!lent.free(stale), "{stale:#x}");
    }
    // The second message is still there.
    assert_ne!(lend(&mut lent, b"third").1, at);
    assert!(lent.free(second));
}

#[test]
fn memory_that_comes_back_is_used_again() {
    let (mut lent, _received) = ends(64 * MIB);
    for round in 0..10_000 {
        let mut message = lent.begin(round % 9000).unwrap();
        message.reserve(round % 5000).unwrap();
        message.reserve(round % 11_000).unwrap();
        if round % 3 == 0 {
            drop(message);
        } else {
            let id = message.finish();
            assert!(lent.free(id));
        }
    }
    assert_eq!(lent.granted(), MIB);
    // All of it is a single block again.
    lend(&mut lent, &vec![1; MIB]);
    assert_eq!(lent.granted(), MIB);
}

#[test]
fn a_message_without_room_gives_back_what_it_took() {
    let (mut lent, _received) = ends(MIB);
    let mut message = lent.begin(0).unwrap();
    assert!(message.reserve(MIB / 2).is_some());
    assert_eq!(
        (message.reserve(MIB), message.reserve(usize::MAX), message.put(&[1; MIB])),
        (None, None, None)
    );
    drop(message);
    let (id, _) = lend(&mut lent, &[1; MIB]);
    assert!(lent.begin(8).unwrap().reserve(8).is_none());
    assert!(lent.free(id));
}

#[test]
fn a_hint_is_no_demand() {
    let (mut lent, _received) = ends(MIB);
    lend(&mut lent, &[1; 8]);
    for hint in [MIB, usize::MAX] {
        assert!(lent.begin(hint).unwrap().reserve(8).is_some(), "a chunk of {hint} bytes has no room");
    }
}

#[test]
#[should_panic(expected = "the message has no 8 bytes")]
fn bytes_of_another_message_are_not_there() {
    let (mut lent, _received) = ends(MIB);
    let (_, other) = lend(&mut lent, &[1; 8]);
    let mut message = lent.begin(0).unwrap();
    message.reserve(8).unwrap();
    message.bytes(other, 8);
}

#[test]
fn a_reservation_of_an_impossible_size_is_refused() {
    let (mut lent, _received) = ends(MIB);
    let mut message = lent.begin(0).unwrap();
    for bytes in [usize::MAX, usize::MAX - 7, 1 << 63, (1 << 63) - 8, 1 << 62] {
        assert_eq!(message.reserve(bytes), None, "{bytes:#x}");
    }
    assert!(message.reserve(8).is_some());
}

/// Returns the ends of a full heap of so many bytes, of which every other page is free.
fn pieces(bytes: usize) -> (Lent, Received) {
    let (mut lent, received) = ends(bytes);
    let pages: std::vec::Vec<u32> = (0..bytes / PAGE).map(|_| lend(&mut lent, &[1; PAGE]).0).collect();
    assert!(pages.into_iter().step_by(2).all(|page| lent.free(page)));
    (lent, received)
}

#[test]
fn small_values_share_the_pieces_of_a_heap() {
    let (mut lent, _received) = pieces(MIB);
    let mut message = lent.begin(MIB).unwrap();
    let values = std::iter::from_fn(|| message.reserve(8)).count();
    assert_eq!(values, MIB / 2 / 8);
}

#[test]
fn a_message_in_a_heap_of_pieces_has_a_bounded_number_of_chunks() {
    let (mut lent, _received) = pieces(256 * MIB);
    let mut message = lent.begin(0).unwrap();
    let values = std::iter::from_fn(|| message.reserve(PAGE)).count();
    assert_eq!(values, 1024);
    let id = message.finish();
    assert!(lent.free(id));
}
