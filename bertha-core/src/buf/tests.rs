use super::{Buf, RawBuf, RecycledBufs, Storage, Vtable};
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
    assert_eq!(buf.prepend(6).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(buf.grow(1000).unwrap_err().kind(), ErrorKind::TooLarge);
    buf.advance(3).unwrap();
    assert_eq!(buf.advance(8).unwrap_err().kind(), ErrorKind::Malformed);
    assert!(!buf.strip_prefix(b"payloads") && !buf.strip_prefix(b"pax"));
    assert!(buf.strip_prefix(b"p") && buf.strip_prefix(b""));
    assert_eq!((&*buf, buf.headroom()), (&b"ayload"[..], 9));
    buf.prepend(1).unwrap();
    buf.truncate(3);
    buf.grow(1).unwrap()[0] = b'!';
    assert_eq!(&*buf, b"pay!");
}

#[test]
fn a_buffer_is_two_words() {
    assert_eq!([size_of::<Buf>(), size_of::<Option<Buf>>()], [16; 2]);
}

#[test]
fn too_large_is_an_error() {
    assert_eq!(Buf::new(usize::MAX, 1).unwrap_err().kind(), ErrorKind::TooLarge);
    assert_eq!(Buf::new(1 << 27, 0).unwrap_err().kind(), ErrorKind::TooLarge);
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

/// Returns a message from the pool whose block has the maximum number of windows.
fn at_the_limit() -> Buf {
    let buf = Buf::copy_of(b"payload", 0).unwrap();
    assert!(buf.view.is_pooled());
    // SAFETY: a block with the window of `buf`. The count is too high from now on, so the block is never freed.
    unsafe { super::pool::forget_up_to_the_limit(buf.view.storage_ptr()) };
    buf
}

/// Returns a message over the bytes of a vector whose storage has the maximum number of windows.
fn owned_at_the_limit() -> Buf {
    let buf = Buf::from_owner(b"payload".to_vec()).unwrap();
    // SAFETY: the storage of an owned vector, with the window of `buf`. The count is too high from now on, so it is never freed.
    unsafe { super::owned::forget_up_to_the_limit::<Vec<u8>>(buf.view.storage_ptr()) };
    buf
}

/// Counting beyond the limit aborts the process, so this test runs itself again in a child process.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn a_count_aborts_instead_of_wrapping() {
    use std::os::unix::process::ExitStatusExt;
    const WAY: &str = "BERTHA_TEST_COUNT_BY";
    let beyond_the_limit = |(owner, way): (&str, &str)| {
        let mut buf = if owner == "pool" { at_the_limit() } else { owned_at_the_limit() };
        // The last window that is allowed.
        std::mem::forget(buf.split_to(0).unwrap());
        match way {
            "none" => {}
            "split_to" => std::mem::forget(buf.split_to(0).unwrap()),
            _ => std::mem::forget(buf.into_segments(1)),
        }
        std::process::exit(7);
    };
    if let Ok(case) = std::env::var(WAY) {
        beyond_the_limit(case.split_once(' ').unwrap());
    }
    for (way, signal) in [("none", None), ("split_to", Some(6)), ("into_segments", Some(6))] {
        for owner in ["pool", "vector"] {
            let status = std::process::Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "buf::tests::a_count_aborts_instead_of_wrapping"])
                .env(WAY, format!("{owner} {way}"))
                .output()
                .unwrap()
                .status;
            let expected = (signal, signal.is_none().then_some(7));
            assert_eq!((status.signal(), status.code()), expected, "{owner}, {way}");
        }
    }
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

fn segments(bytes: &[u8], len: usize) -> Vec<Vec<u8>> {
    let segments = Buf::copy_of(bytes, 0).unwrap().into_segments(len);
    let count = segments.len();
    let segments: Vec<_> = segments.map(|segment| segment.to_vec()).collect();
    assert_eq!(segments.len(), count);
    segments
}

#[test]
fn the_last_piece_may_be_shorter() {
    assert_eq!(segments(b"aabbc", 2), [&b"aa"[..], b"bb", b"c"]);
    assert_eq!(segments(b"aabb", 2), [b"aa", b"bb"]);
    assert_eq!(segments(b"aa", 2), [b"aa"]);
    assert_eq!(segments(b"ab", 3), [b"ab"]);
}

#[test]
fn what_has_no_length_is_one_piece() {
    assert_eq!(segments(b"", 0), [b""]);
    assert_eq!(segments(b"", 2), [b""]);
    assert_eq!(segments(b"ab", 0), [b"ab"]);
}

#[test]
fn segments_share_no_room() {
    let rooms = |segment: Buf| (segment.headroom(), segment.tailroom());
    let segments = Buf::copy_of(b"aabbc", 4).unwrap().into_segments(2);
    assert_eq!(segments.map(rooms).collect::<Vec<_>>(), [(0, 0), (0, 0), (0, 512 - 9)]);
    let only = Buf::copy_of(b"aa", 4).unwrap().into_segments(2);
    assert_eq!(only.map(rooms).collect::<Vec<_>>(), [(4, 512 - 6)]);
}

#[test]
fn what_is_spent_in_several_storages_is_released() {
    let mut spent = RecycledBufs::new();
    for _ in 0..3 {
        let segments = Buf::copy_of(b"aabbc", 0).unwrap().into_segments(2);
        segments.for_each(|segment| spent.add(segment));
        spent.add(Buf::copy_of(b"x", 0).unwrap());
    }
    spent.release();
    spent.release();
}

/// An owner of bytes that counts the dropped owners.
struct Owner {
    bytes: [u8; 8],
    dropped: std::sync::Arc<AtomicUsize>,
}

impl AsMut<[u8]> for Owner {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn an_owner_is_dropped_with_the_last_buffer_into_it() {
    let dropped = std::sync::Arc::default();
    let owner = Owner { bytes: *b"onetwo!!", dropped: std::sync::Arc::clone(&dropped) };
    let mut rest = Buf::from_owner(owner).ok().unwrap();
    let one = rest.split_to(3).unwrap();
    rest[0] = b'T';
    let other = std::thread::spawn(move || assert_eq!(&*one, b"one"));
    assert_eq!(rest.headroom(), 0);
    rest.truncate(3);
    assert_eq!(&*rest, b"Two");
    other.join().unwrap();
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(rest);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn an_owner_of_more_than_a_buffer_holds_comes_back() {
    let owner = vec![0; 1 << 27];
    assert_eq!(Buf::from_owner(owner).unwrap_err().len(), 1 << 27);
}

#[test]
fn headroom_beyond_what_a_buffer_remembers_is_refused() {
    assert_eq!(Buf::new(1, 511).unwrap().headroom(), 511);
    assert_eq!(Buf::new(1, 512).unwrap_err().kind(), ErrorKind::TooLarge);
    let mut long = Buf::new(5000, 0).unwrap();
    long.advance(3000).unwrap();
    assert_eq!((long.headroom(), long.len()), (511, 2000));
    long.prepend(511).unwrap();
    assert_eq!((long.headroom(), long.len()), (0, 2511));
}

#[test]
fn a_datapath_recognises_its_own_memory() {
    /// An owner as a datapath has it: found by its storage, the first field.
    #[repr(C)]
    struct FakeMbuf {
        storage: Storage,
        memory: [u8; 8],
    }
    static RELEASED: AtomicUsize = AtomicUsize::new(0);
    unsafe fn share(_: NonNull<Storage>) {}
    unsafe fn release(storage: NonNull<Storage>) {
        RELEASED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the storage is the first field of the box leaked below, released once.
        drop(unsafe { Box::from_raw(storage.cast::<FakeMbuf>().as_ptr()) });
    }
    static FAKE_MBUF: Vtable = Vtable { share, release, settle: None };
    let make = || {
        let storage = Storage { memory: NonNull::dangling(), len: 8, vtable: &FAKE_MBUF };
        let mut mbuf = NonNull::from(Box::leak(Box::new(FakeMbuf { storage, memory: *b"headDATA" })));
        // SAFETY: nobody else knows the box yet.
        let mbuf_mut = unsafe { mbuf.as_mut() };
        mbuf_mut.storage.memory = NonNull::from(&mut mbuf_mut.memory).cast();
        let raw = RawBuf { storage: mbuf.cast(), start: 4, len: 4, headroom: 4, tailroom: 0 };
        // SAFETY: the box is initialised, has no other user, and `release` frees it.
        unsafe { Buf::from_raw(raw) }
    };
    let mut buf = make();
    buf.prepend(4).unwrap();
    assert_eq!(&*buf, b"headDATA");
    let first = buf.as_ptr();
    let raw = buf.into_raw(&FAKE_MBUF).unwrap();
    // SAFETY: the storage lives until its window is released.
    assert_eq!(unsafe { raw.storage.as_ref() }.memory.as_ptr().cast_const(), first);
    assert_eq!(RELEASED.load(Ordering::Relaxed), 0);
    // SAFETY: `raw` was just taken out of a buffer.
    drop(unsafe { Buf::from_raw(raw) });
    assert_eq!(RELEASED.load(Ordering::Relaxed), 1);
    let pooled = Buf::new(4, 0).unwrap();
    let before = pooled.as_ptr();
    // A kept message holds no memory of a datapath.
    assert_eq!(pooled.kept().as_ptr(), before);
    let kept = make().kept();
    assert_eq!((&*kept, RELEASED.load(Ordering::Relaxed)), (&b"DATA"[..], 2));
    assert!(kept.into_raw(&FAKE_MBUF).is_err());
}

/// Returns the number of windows into the block that a buffer lies in.
fn counted(inside: &Buf) -> u32 {
    // SAFETY: a block with at least the window of `inside`.
    unsafe { super::pool::windows(inside.view.storage_ptr()) }
}

proptest! {
    #[test]
    fn segments_are_those_of_the_bytes_and_each_is_counted(
        bytes in proptest::collection::vec(any::<u8>(), 1..200),
        len in 1usize..40,
        steps in proptest::collection::vec((any::<bool>(), 1usize..9), 0..20),
    ) {
        let whole = Buf::copy_of(&bytes, 3).unwrap();
        let mut whole = whole;
        let witness = whole.split_to(0).unwrap();
        let (mut left, mut expected) = (whole.into_segments(len), bytes.chunks(len));
        let (mut kept, mut spent, mut held) = (Vec::new(), RecycledBufs::new(), expected.len() as u32);
        for (splits, count) in steps {
            prop_assert_eq!(left.len(), expected.len());
            let mut some = if splits && count < left.len() { left.split_first(count) } else {
                left.next().map_or_else(|| Buf::copy_of(b"", 0).unwrap().into_segments(0), |segment| segment.into_segments(0))
            };
            if let Some(segment) = some.next().filter(|segment| !segment.is_empty()) {
                prop_assert_eq!(&*segment, expected.next().unwrap());
                kept.push(segment);
            }
            for segment in some {
                prop_assert_eq!(&*segment, expected.next().unwrap());
                spent.add(segment);
            }
            prop_assert_eq!(counted(&witness), 1 + held);
        }
        held -= left.len() as u32;
        drop(left);
        prop_assert_eq!(counted(&witness), 1 + held);
        spent.release();
        prop_assert_eq!(counted(&witness), 1 + kept.len() as u32);
        drop(kept);
        prop_assert_eq!(counted(&witness), 1);
    }

    #[test]
    fn a_window_and_its_rooms_stay_within_the_storage(
        (len, headroom) in (0usize..300, 0usize..40),
        moves in proptest::collection::vec((0..4u8, 0usize..50), 0..40),
    ) {
        let mut buf = Buf::new(len, headroom).unwrap();
        let (mut front, mut len, storage) = (headroom, len, 512);
        for (kind, n) in moves {
            let (done, room) = match kind {
                0 => (buf.prepend(n).is_ok(), front),
                1 => (buf.advance(n).is_ok(), len),
                2 => (buf.grow(n).is_ok(), storage - front - len),
                _ => {
                    buf.truncate(n);
                    (true, usize::MAX)
                }
            };
            prop_assert_eq!(done, n <= room);
            if done {
                (front, len) = match kind {
                    0 => (front - n, len + n),
                    1 => (front + n, len - n),
                    2 => (front, len + n),
                    _ => (front, len.min(n)),
                };
            }
            prop_assert_eq!((buf.headroom(), buf.len(), buf.tailroom()), (front, len, storage - front - len));
        }
    }

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
