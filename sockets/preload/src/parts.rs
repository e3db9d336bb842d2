//! The parts of a program's memory that a call names.

use libc::iovec;
use std::ptr::null_mut;
use std::slice;

/// The most parts that go to the kernel at once.
pub(crate) const PARTS: usize = 64;

/// Addresses below this one are nobody's: most wrong pointers are null, or a field of null.
const LOWEST: usize = 4096;

/// Addresses from this one on are the kernel's.
const HIGHEST: usize = 1 << 47;

/// Returns the number of bytes.
#[inline]
pub(crate) fn length(parts: &[iovec]) -> usize {
    parts.iter().fold(0, |sum, part| sum.saturating_add(part.iov_len))
}

/// Returns true if the part may be memory of the program. The kernel answers for one that can't be.
#[inline]
pub(crate) fn is_plausible(part: &iovec) -> bool {
    let start = part.iov_base.addr();
    part.iov_len == 0 || start >= LOWEST && start.checked_add(part.iov_len).is_some_and(|end| end <= HIGHEST)
}

/// Returns true if so many values may be memory of the program.
pub(crate) fn is_there<T>(values: *const T, count: usize) -> bool {
    let iov_len = count.saturating_mul(size_of::<T>());
    !values.is_null() && is_plausible(&iovec { iov_base: values.cast_mut().cast(), iov_len })
}

/// Returns the parts behind the first `skip` bytes, up to one that is no memory of the program.
#[inline]
pub(crate) fn rest(parts: &[iovec], skip: usize) -> impl Iterator<Item = &mut [u8]> {
    let mut skip = skip;
    parts.iter().take_while(|part| is_plausible(part)).filter_map(move |part| {
        let skipped = skip.min(part.iov_len);
        skip -= skipped;
        let start = part.iov_base.cast::<u8>().wrapping_add(skipped);
        let len = part.iov_len - skipped;
        // SAFETY: the program gives this memory for the call.
        (len > 0).then(|| unsafe { slice::from_raw_parts_mut(start, len) })
    })
}

/// A part of nothing.
pub(crate) const NOTHING: iovec = iovec { iov_base: null_mut(), iov_len: 0 };

/// Writes the parts of `most` bytes behind the first `skip`, as many as there is room for. Returns their number.
pub(crate) fn cut(parts: &[iovec], skip: usize, most: usize, into: &mut [iovec]) -> usize {
    let (mut skip, mut most, mut count) = (skip, most, 0);
    for part in parts {
        let skipped = skip.min(part.iov_len);
        skip -= skipped;
        let len = most.min(part.iov_len - skipped);
        if len == 0 {
            continue;
        }
        let Some(place) = into.get_mut(count) else { break };
        *place = iovec { iov_base: part.iov_base.cast::<u8>().wrapping_add(skipped).cast(), iov_len: len };
        (most, count) = (most - len, count + 1);
    }
    count
}
