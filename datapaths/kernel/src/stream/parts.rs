//! The system call that writes a message whose parts lie apart.
#![allow(unsafe_code)]

use arrayvec::ArrayVec;
use bertha_core::Gathered;
use std::io;
use std::iter;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd};

/// Maximum number of parts that the system takes in a call.
const MOST: usize = 1024;

/// Writes the next parts of a message, and returns the number of bytes that the stream took.
pub(super) fn write(stream: impl AsFd, message: &Gathered) -> io::Result<usize> {
    let (shared, at_once) = message.parts();
    let first = part(message.bytes().as_ptr(), message.bytes().len());
    let parts = iter::once(first).chain(shared.iter().map(|bytes| part(bytes.start(), bytes.len())));
    let mut parts: ArrayVec<_, MOST> =
        parts.filter(|part| part.iov_len > 0).take(at_once.min(MOST)).collect();
    // SAFETY: a header of zeros has no address, no parts and no ancillary data.
    let mut header: libc::msghdr = unsafe { zeroed() };
    header.msg_iov = parts.as_mut_ptr();
    header.msg_iovlen = parts.len() as _;
    // SAFETY: the header names as many parts as there are. The memory of each may be read until the call returns: the first is
    // borrowed from the message, and of the others each `SharedBytes`, which the message has, keeps its own mapped. The call only reads the
    // parts. Other processes may write to shared ones meanwhile: the kernel copies them as any bytes, and no reference to them exists.
    // A peer that has closed the stream is an error, not a signal.
    let written = unsafe { libc::sendmsg(stream.as_fd().as_raw_fd(), &header, libc::MSG_NOSIGNAL) };
    usize::try_from(written).map_err(|_| io::Error::last_os_error())
}

fn part(start: *const u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: start.cast_mut().cast(), iov_len: len }
}
