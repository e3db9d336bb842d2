//! Copies of the descriptors of sets of epoll, which stand for the set that they were made of.

use crate::{anonymous, errno, watch};
use libc::c_int;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The copies that are known at once. The kernel alone waits for bytes by one more.
const MOST: usize = 64;

/// The copies: each plus one in the upper half, and its set in the lower; zero is free.
static COPIES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];

/// The number of copies, for programs that have none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn word(copy: c_int, set: c_int) -> u64 {
    (u64::from(copy.cast_unsigned()) + 1) << 32 | u64::from(set.cast_unsigned())
}

fn copy_of(word: u64) -> Option<c_int> {
    // The conversion is exact: the upper half of a word.
    (word >> 32).checked_sub(1).map(|copy| (copy as u32).cast_signed())
}

fn set_in(word: u64) -> c_int {
    // The conversion takes the lower half.
    (word as u32).cast_signed()
}

/// Returns the set that a descriptor stands for: itself, unless it is a copy.
#[inline]
pub(crate) fn set_of(fd: c_int) -> c_int {
    if COUNT.load(Ordering::Relaxed) == 0 { fd } else { known(fd).unwrap_or(fd) }
}

#[cold]
fn known(fd: c_int) -> Option<c_int> {
    let words = COPIES.iter().map(|place| place.load(Ordering::Relaxed));
    words.filter(|word| copy_of(*word) == Some(fd)).map(set_in).next()
}

/// Notes a copy. Returns false if it is none of a set, or one more than can be known.
pub(crate) fn made(from: c_int, to: c_int) -> bool {
    let kept = errno::last();
    let is_made = anonymous::is_named(from, b"anon_inode:[eventpoll]") && put(word(to, set_of(from)));
    errno::set(kept);
    is_made
}

fn put(word: u64) -> bool {
    let put =
        |place: &AtomicU64| place.compare_exchange(0, word, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let is_put = COPIES.iter().any(put);
    if is_put {
        COUNT.fetch_add(1, Ordering::Relaxed);
    }
    is_put
}

/// Forgets a descriptor that is closed now. Where it is a set that has copies, one of these takes its place.
pub(crate) fn closed(fd: c_int) {
    if COUNT.load(Ordering::Relaxed) > 0 && forgotten(fd) {
        return;
    }
    watch::closed(fd);
}

/// Returns true if the set that the descriptor stands for stays.
#[cold]
fn forgotten(fd: c_int) -> bool {
    let mut next = None;
    for place in &COPIES {
        let word = place.load(Ordering::Relaxed);
        let Some(copy) = copy_of(word) else { continue };
        let is_next = set_in(word) == fd && next.is_none();
        if copy == fd || is_next {
            place.store(0, Ordering::Relaxed);
            COUNT.fetch_sub(1, Ordering::Relaxed);
        }
        if copy == fd {
            return true;
        }
        if is_next {
            next = Some(copy);
        } else if set_in(word) == fd
            && let Some(next) = next
        {
            place.store(self::word(copy, next), Ordering::Relaxed);
        }
    }
    if let Some(next) = next {
        watch::renamed(fd, next);
    }
    next.is_some()
}
