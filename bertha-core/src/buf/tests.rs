use super::{Buf, RawBuf, Vtable};
use crate::ErrorKind;
use proptest::prelude::*;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn window_moves_within_its_storage() {
    let mut buf = Buf::copy_of(b"payload", 8).unwrap();
    buf.prepend(3).unwrap().copy_from_slice(b"hdr");
    assert_eq!(&*buf, b"hdrpayload");
    assert_eq!(buf.headroom(), 5);
    assert_eq!(buf.prepend(6).unwrap_err().kind(), ErrorKind::Exhausted);
    buf.advance(3).unwrap();
    assert_eq!(buf.advance(8).unwrap_err().kind(), ErrorKind::Malformed);
    buf.truncate(3);
    buf.grow(1).unwrap()[0] = b'!';
    assert_eq!(&*buf, b"pay!");
}

#[test]
fn too_large_is_an_error() {
    assert_eq!(Buf::new(usize::MAX, 1).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(Buf::new(1 << 31, 0).unwrap_err().kind(), ErrorKind::TooLarge);
}

#[test]
fn split_parts_are_independent_and_outlive_each_other() {
    let mut rest = Buf::copy_of(b"onetwothree", 4).unwrap();
    let mut one = rest.split_to(3).unwrap();
    let mut two = rest.split_to(3).unwrap();
    assert_eq!((one.tailroom(), two.headroom(), two.tailroom(), rest.headroom()), (0, 0, 0, 0));
    one.copy_from_slice(b"ONE");
    two.copy_from_slice(b"TWO");
    drop(rest);
    drop(one);
    assert_eq!(std::thread::spawn(move || two.to_vec()).join().unwrap(), b"TWO");
}

#[test]
fn blocks_travel_between_threads() {
    let (send, recv) = std::sync::mpsc::sync_channel::<Buf>(8);
    let worker = std::thread::spawn(move || recv.iter().map(|buf| buf.len()).sum::<usize>());
    for round in 0..500 {
        send.send(Buf::copy_of(&[7; 100], round % 16).unwrap()).unwrap();
    }
    drop(send);
    assert_eq!(worker.join().unwrap(), 50_000);
}

#[test]
fn a_datapath_recognises_its_own_memory() {
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    unsafe fn share(_: NonNull<()>) {}
    unsafe fn release(owner: NonNull<()>) {
        RELEASED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: `owner` is the box leaked below, released once.
        drop(unsafe { Box::from_raw(owner.cast::<[u8; 8]>().as_ptr()) });
    }
    static FAKE_MBUF: Vtable = Vtable { share, release };
    let make = || {
        let memory = NonNull::from(Box::leak(Box::new(*b"headDATA")));
        // SAFETY: the data begin four bytes into the box.
        let data = unsafe { memory.cast::<u8>().add(4) };
        let raw = RawBuf { data, len: 4, headroom: 4, tailroom: 0, owner: memory.cast(), vtable: &FAKE_MBUF };
        // SAFETY: the box is initialised, has no other user, and `release` frees it.
        unsafe { Buf::from_raw(raw) }
    };
    let mut buf = make();
    buf.prepend(4).unwrap();
    assert_eq!(&*buf, b"headDATA");
    let raw = buf.into_raw(&FAKE_MBUF).unwrap();
    assert_eq!(RELEASED.load(Ordering::Relaxed), 0);
    // SAFETY: `raw` was just taken out of a buffer.
    drop(unsafe { Buf::from_raw(raw) });
    assert_eq!(RELEASED.load(Ordering::Relaxed), 1);
    assert!(Buf::new(4, 0).unwrap().into_raw(&FAKE_MBUF).is_err());
}

proptest! {
    #[test]
    fn contents_survive_any_sequence_of_moves(
        bytes in proptest::collection::vec(any::<u8>(), 0..3000),
        cuts in proptest::collection::vec(0usize..200, 0..20),
        headroom in 0usize..64,
    ) {
        let mut buf = Buf::copy_of(&bytes, headroom).unwrap();
        let mut expected = &bytes[..];
        let mut parts = Vec::new();
        for cut in cuts {
            match buf.split_to(cut) {
                Ok(part) => {
                    let (front, back) = expected.split_at(cut);
                    expected = back;
                    parts.push((part, front));
                }
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Malformed),
            }
        }
        prop_assert_eq!(&*buf, expected);
        for (part, front) in parts {
            prop_assert_eq!(&*part, front);
        }
    }
}
