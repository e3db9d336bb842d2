//! A daemon reads what an application writes.

use super::super::layout::PAGE;
use super::super::*;
use super::{MIB, heap};
use std::mem::offset_of;

fn word(foreign: &Foreign, at: u64) -> u64 {
    let mut bytes = [0; 8];
    foreign.read(at, &mut bytes).unwrap();
    u64::from_le_bytes(bytes)
}

/// Reads a row: its address, and its bytes.
fn row(foreign: &Foreign, at: u64, size: usize) -> (u64, std::vec::Vec<u8>) {
    let (address, sizes) = (word(foreign, at), word(foreign, at + 8));
    let (len, capacity) = (sizes as u32, (sizes >> 32) as u32);
    assert!(len <= capacity);
    let mut bytes = vec![0; size * len as usize];
    foreign.read(address, &mut bytes).unwrap();
    (address, bytes)
}

#[repr(C)]
struct Message {
    present: u64,
    numbers: Vec<u32>,
    text: String,
    texts: Vec<String>,
    inner: Option<Box<Message>>,
}

fn message(heap: &Heap, inner: Option<Box<Message>>) -> Message {
    Message {
        present: 5,
        numbers: Vec::new_in(heap),
        text: String::new_in(heap),
        texts: Vec::new_in(heap),
        inner,
    }
}

#[test]
fn values_have_the_layout_of_messages() {
    let (heap, daemon) = heap(MIB);
    let mut outer = message(&heap, Some(Box::new_in(message(&heap, None), &heap)));
    outer.numbers.extend([1, 2, u32::MAX]);
    outer.text.push_str("läuft");
    outer.texts.extend(["a", "", "ccc"].map(|text| String::from_str_in(text, &heap)));
    let outer = Box::new_in(outer, &heap);
    let (at, foreign) = (Box::as_ptr(&outer).addr() as u64, daemon.foreign(&heap));
    let field = |offset: usize| at + offset as u64;

    assert_eq!(size_of::<Message>(), 8 + 3 * 16 + 8);
    assert_eq!(word(&foreign, at), 5);
    let (_, numbers) = row(&foreign, field(offset_of!(Message, numbers)), 4);
    assert_eq!(numbers, [1, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255]);
    assert_eq!(row(&foreign, field(offset_of!(Message, text)), 1).1, "läuft".as_bytes());
    let (texts, references) = row(&foreign, field(offset_of!(Message, texts)), 16);
    assert_eq!(references.len(), 48);
    assert_eq!([0, 16, 32].map(|text| row(&foreign, texts + text, 1).1), [&b"a"[..], b"", b"ccc"]);

    let inner = word(&foreign, field(offset_of!(Message, inner)));
    assert_eq!(word(&foreign, inner), 5);
    assert_eq!(word(&foreign, inner + offset_of!(Message, inner) as u64), 0, "no message is zero");
    let empty = inner + offset_of!(Message, numbers) as u64;
    assert_eq!((word(&foreign, empty), word(&foreign, empty + 8)), (heap.base(), 0));
}

#[test]
fn every_place_and_length_is_read() {
    let (heap, daemon) = heap(MIB);
    let mut bytes = Vec::with_capacity_in(64, &heap);
    bytes.extend(0..64_u8);
    let (at, foreign) = (bytes.as_ptr().addr() as u64, daemon.foreign(&heap));
    for place in 0..16 {
        for len in 0..40 {
            let mut read = [99; 42];
            foreign.read(at + place, &mut read[1..][..len]).unwrap();
            assert!(
                read[1..][..len].iter().copied().eq(place as u8..place as u8 + len as u8),
                "{len} bytes at {place}"
            );
            assert!(
                read[0] == 99 && read[1 + len..].iter().all(|byte| *byte == 99),
                "{len} bytes at {place}"
            );
        }
    }
}

#[test]
fn a_row_across_regions_is_read() {
    let (heap, daemon) = heap(3 * MIB);
    let small = Box::new_in(1_u8, &heap);
    let mut bytes = Vec::with_capacity_in(2 * MIB, &heap);
    bytes.extend((0..2 * MIB).map(|at| (at / 7) as u8));
    assert!(
        bytes.as_ptr().addr() < heap.base() as usize + 65_536 + MIB,
        "the row begins in the first region"
    );
    let mut read = vec![0; bytes.len()];
    daemon.foreign(&heap).read(bytes.as_ptr().addr() as u64, &mut read).unwrap();
    assert_eq!(bytes, read[..]);
    drop(small);
}

#[test]
fn nothing_outside_of_the_regions_is_read() {
    let (heap, daemon) = heap(MIB);
    drop(Box::new_in(0_u64, &heap));
    let (base, foreign) = (heap.base(), daemon.foreign(&heap));
    let first = base + 65_536;
    let end = first + MIB as u64;
    assert_eq!(foreign.granted(), MIB);
    for at in [0, 1, base - 1, base, first - 1, end, end + 1, base + (4 << 30), u64::MAX - 7, u64::MAX] {
        for len in [1, 8, 4096] {
            let mut read = vec![99; len];
            assert_eq!(foreign.read(at, &mut read), Err(Outside { at }), "{len} bytes at {at:#x}");
            assert!(read.iter().all(|byte| *byte == 99));
        }
        assert_eq!(foreign.read(at, &mut []), Ok(()));
    }
    for len in 1..20 {
        let mut read = vec![0; len];
        assert_eq!(foreign.read(end - len as u64, &mut read), Ok(()));
        let at = end - len as u64 + 1;
        assert_eq!(foreign.read(at, &mut read), Err(Outside { at }));
    }
    assert_eq!(foreign.read(first, &mut vec![0; MIB + 1]), Err(Outside { at: first }));
    assert_eq!(foreign.read(first, &mut vec![0; MIB]), Ok(()));
}

#[test]
fn a_heap_begins_at_a_base() {
    for base in [0, 1, 4096, (4 << 30) + 1, u64::MAX] {
        assert_eq!(Foreign::new(base, MIB).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
        assert_eq!(Lent::new(base, MIB).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
    }
    let last = Foreign::new(u64::MAX << 32, MIB).unwrap();
    let at = u64::MAX;
    assert_eq!(last.read(at, &mut [0]), Err(Outside { at }));
}

#[test]
fn an_application_has_no_more_memory_than_its_quota() {
    let mut foreign = Foreign::new(1 << 40, MIB + PAGE).unwrap();
    foreign.add(&Region::writable(MIB).unwrap()).unwrap();
    let refused = foreign.add(&Region::writable(2 * PAGE).unwrap()).unwrap_err();
    assert_eq!((refused.kind(), foreign.granted()), (std::io::ErrorKind::QuotaExceeded, MIB));
    foreign.add(&Region::writable(PAGE).unwrap()).unwrap();
}

#[test]
fn bytes_that_are_shared_lie_in_the_regions_and_stay_mapped_without_their_heap() {
    let (heap, daemon) = heap(MIB);
    let text = String::from_str_in("shared", &heap);
    let (at, foreign) = (text.as_ptr().addr() as u64, daemon.foreign(&heap));
    let end = heap.base() + super::super::layout::HEADER as u64 + foreign.granted() as u64;
    for (outside, len) in [(end, 1), (end - 1, 2), (heap.base(), 1), (0, 1), (at, usize::MAX)] {
        assert_eq!(foreign.share(outside, len).unwrap_err().at, outside);
    }
    assert_eq!(foreign.share(end - 1, 1).unwrap().len(), 1);
    let shared = foreign.share(at, 6).unwrap();
    drop((foreign, text, heap));
    let byte = |number| {
        // SAFETY: the bytes are mapped as long as `shared` lives, and nobody writes to them any more.
        unsafe { shared.start().wrapping_add(number).read() }
    };
    assert_eq!([0, 1, 2, 3, 4, 5].map(byte), *b"shared");
    let mapping = format!("{:x}-", shared.start().addr() & !(PAGE - 1));
    let is_mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().contains(&mapping);
    assert!(is_mapped());
    drop(shared);
    assert!(!is_mapped());
}
