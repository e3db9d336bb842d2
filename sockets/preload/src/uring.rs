//! Processes with an io_uring, which reads and writes past this library: they get no rings.

use libc::c_int;
use std::sync::atomic::{AtomicU8, Ordering};

/// The answer, once it is known: [`NONE`] or [`ONE`].
static KNOWN: AtomicU8 = AtomicU8::new(0);

const NONE: u8 = 1;
const ONE: u8 = 2;

/// The most descriptors that are looked at.
const DESCRIPTORS: c_int = 1024;

/// Returns true if the process may have an io_uring. Its descriptors are looked at before its first ring; later ones are seen as they are
/// made.
pub(crate) fn is_there() -> bool {
    match KNOWN.load(Ordering::Relaxed) {
        NONE => false,
        ONE => true,
        _ => look(),
    }
}

#[cold]
fn look() -> bool {
    let found = (0..DESCRIPTORS).any(is_one);
    let known = if found { ONE } else { NONE };
    // Another thread may have made one meanwhile.
    KNOWN.fetch_max(known, Ordering::Relaxed);
    is_there()
}

fn is_one(fd: c_int) -> bool {
    const NAME: &[u8] = b"anon_inode:[io_uring]";
    let mut path = *b"/proc/self/fd/0000\0";
    let mut rest = fd;
    for digit in path[14..18].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    // The kernel takes no zeros before a number.
    let zeros = path[14..17].iter().take_while(|digit| **digit == b'0').count();
    path.copy_within(14 + zeros.., 14);
    let mut target = [0_u8; NAME.len()];
    // SAFETY: the path ends by a zero, and the buffer has this room.
    let len = unsafe { libc::readlink(path.as_ptr().cast(), target.as_mut_ptr().cast(), target.len()) };
    len == NAME.len() as isize && target == *NAME
}

/// Records that the process makes an io_uring.
pub(crate) fn is_made() {
    KNOWN.store(ONE, Ordering::Relaxed);
}
