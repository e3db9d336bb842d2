//! Pointers of C, checked as far as they can be.

use crate::failure::Failure;
use std::ffi::{c_char, c_void};
use std::{ptr, slice, str};

/// Longest text that a function takes, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// Most elements of an array.
const MOST: usize = 4096;

/// Returns a text of C.
///
/// # Errors
/// [`BERTHA_BAD_ARGUMENT`](crate::code::Code::BERTHA_BAD_ARGUMENT).
///
/// # Safety
/// The text is null, or has a zero at its end, and is there for `'a`.
pub(super) unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument("a text is null"));
    }
    // SAFETY: the text ends with a zero, behind which nothing is read.
    let length = unsafe { libc::strnlen(text, LONGEST_TEXT) };
    if length == LONGEST_TEXT {
        return Err(Failure::argument("a text has 64 KiB or more"));
    }
    // SAFETY: as many bytes stand in front of the zero.
    let bytes = unsafe { slice::from_raw_parts(text.cast(), length) };
    str::from_utf8(bytes).map_err(|_| Failure::argument("a text is not UTF-8"))
}

/// Returns bytes of C.
///
/// # Errors
/// [`BERTHA_BAD_ARGUMENT`](crate::code::Code::BERTHA_BAD_ARGUMENT).
///
/// # Safety
/// The pointer is null, or leads to as many bytes, which are there and do not change for `'a`.
pub(super) unsafe fn bytes<'a>(data: *const c_void, length: usize) -> Result<&'a [u8], Failure> {
    check(data, length)?;
    if length == 0 {
        return Ok(&[]);
    }
    // SAFETY: the pointer is not null, no memory is longer than this length may be, and the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(data.cast(), length) })
}

fn check(data: *const c_void, length: usize) -> Result<(), Failure> {
    if isize::try_from(length).is_err() {
        return Err(Failure::argument("a length is above that of any memory"));
    }
    if data.is_null() && length > 0 {
        return Err(Failure::argument("memory is null, and has a length"));
    }
    Ok(())
}

/// Memory of C to write to, which may hold anything yet.
pub(super) struct Memory {
    data: *mut u8,
    capacity: usize,
}

impl Memory {
    /// # Errors
    /// [`BERTHA_BAD_ARGUMENT`](crate::code::Code::BERTHA_BAD_ARGUMENT).
    ///
    /// # Safety
    /// The pointer is null, or leads to as many bytes that this value alone uses while it is there.
    pub(super) unsafe fn new(data: *mut c_void, capacity: usize) -> Result<Self, Failure> {
        check(data, capacity)?;
        Ok(Self { data: data.cast(), capacity })
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Writes as many of the bytes as there is room for.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        let length = bytes.len().min(self.capacity);
        if length > 0 {
            // SAFETY: there is room for as many bytes, which nobody else uses, so they are none of those that are read.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.data, length) };
        }
    }
}

/// A place of C for one value or several.
pub(super) struct Out<T> {
    place: *mut T,
    count: usize,
}

impl<T> Out<T> {
    /// Returns the place for one value.
    ///
    /// # Errors
    /// [`BERTHA_BAD_ARGUMENT`](crate::code::Code::BERTHA_BAD_ARGUMENT).
    ///
    /// # Safety
    /// The pointer is null, or leads to memory of a `T` that this value alone uses while it is there.
    pub(super) unsafe fn new(place: *mut T) -> Result<Self, Failure> {
        // SAFETY: the caller's promise.
        unsafe { Self::array(place, 1) }
    }

    /// Returns the place for several values.
    ///
    /// # Errors
    /// [`BERTHA_BAD_ARGUMENT`](crate::code::Code::BERTHA_BAD_ARGUMENT).
    ///
    /// # Safety
    /// The pointer is null, or leads to memory of as many `T` that this value alone uses while it is there.
    pub(super) unsafe fn array(place: *mut T, count: usize) -> Result<Self, Failure> {
        check_array(place, count)?;
        Ok(Self { place, count })
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Writes the value of this number, if there is such a place.
    pub(super) fn write(&mut self, number: usize, value: T) {
        if number < self.count {
            // SAFETY: the place is one of the array.
            let place = unsafe { self.place.add(number) };
            // SAFETY: the place is aligned, since the first is, and nobody else uses it.
            unsafe { place.write(value) };
        }
    }
}

/// Returns a copy of a value of C.
///
/// # Errors
/// [`BERTHA_BAD_ARGUMENT`](crate::code::Code::BERTHA_BAD_ARGUMENT).
///
/// # Safety
/// The pointer is null, or leads to a `T`, which does not change meanwhile.
pub(super) unsafe fn one<T: Copy>(place: *const T) -> Result<T, Failure> {
    check_array(place, 1)?;
    // SAFETY: the pointer is not null and aligned, and the rest is the caller's promise.
    Ok(unsafe { place.read() })
}

/// Returns a copy of an array of C.
///
/// # Errors
/// [`BERTHA_BAD_ARGUMENT`](crate::code::Code::BERTHA_BAD_ARGUMENT).
///
/// # Safety
/// The pointer is null, or leads to as many `T`, which do not change meanwhile.
pub(super) unsafe fn copied<T: Copy>(array: *const T, count: usize) -> Result<Vec<T>, Failure> {
    check_array(array, count)?;
    // SAFETY: the pointer is not null and aligned, the array is bounded, and the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(array, count) }.to_vec())
}

fn check_array<T>(array: *const T, count: usize) -> Result<(), Failure> {
    if array.is_null() {
        return Err(Failure::argument("a pointer to a result or to an array is null"));
    }
    if !array.is_aligned() {
        return Err(Failure::argument("a pointer to a result or to an array is not aligned"));
    }
    if count > MOST {
        return Err(Failure::argument("an array has more than 4096 elements"));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_bounded_and_utf_8() {
        // SAFETY: each text ends with a zero.
        let read = |bytes: &[u8]| unsafe { text(bytes.as_ptr().cast()) }.map(str::to_owned);
        assert_eq!(read(b"udp\0rest").unwrap(), "udp");
        assert_eq!(read(b"\0").unwrap(), "");
        assert!(read(b"\xff\0").is_err());
        let mut long = vec![b'a'; LONGEST_TEXT];
        long.push(0);
        assert!(read(&long).is_err());
        // SAFETY: null is permitted.
        assert!(unsafe { text(ptr::null()) }.is_err());
    }

    #[test]
    fn memory_that_there_can_not_be_is_refused() {
        let byte = 7_u8;
        let data = ptr::from_ref(&byte).cast::<c_void>();
        // SAFETY: what is not refused is one byte or none.
        let read = |data, length| unsafe { bytes(data, length) }.map(<[u8]>::to_vec);
        assert_eq!(read(data, 1).unwrap(), [7]);
        assert!(read(data, usize::MAX).is_err() && read(ptr::null(), 1).is_err());
        assert!(read(ptr::null(), 0).unwrap().is_empty());
    }

    #[test]
    fn places_are_aligned_and_bounded() {
        let mut places = [0_u64; 2];
        let first = places.as_mut_ptr();
        let odd = first.cast::<u8>().wrapping_add(1).cast::<u64>();
        // SAFETY: what is not refused is the array or a part of it.
        let array = |place, count| unsafe { Out::<u64>::array(place, count) };
        assert!(array(odd, 1).is_err() && array(ptr::null_mut(), 1).is_err());
        assert!(array(first, MOST + 1).is_err());
        let mut out = array(first, 2).unwrap();
        out.write(1, 7);
        out.write(2, 9);
        // SAFETY: the array.
        assert_eq!(unsafe { copied(first, 2) }.unwrap(), [0, 7]);
        // SAFETY: what is not refused is the first value of the array.
        let read = |place| unsafe { one::<u64>(place) };
        assert!(read(odd).is_err() && read(ptr::null()).is_err());
        assert_eq!(read(first).unwrap(), 0);
    }
}
