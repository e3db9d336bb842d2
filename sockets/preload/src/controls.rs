//! The control data of a program's message.

use libc::{cmsghdr, msghdr};
use std::iter::from_fn;

/// Returns the headers of a message's control data.
pub(crate) fn controls(header: &msghdr) -> impl Iterator<Item = &cmsghdr> {
    // SAFETY: the header is the program's.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
    from_fn(move || {
        // SAFETY: the pointer is null or lies within the program's control data.
        let found = unsafe { next.as_ref() }?;
        // SAFETY: the header is the program's, and `found` is one of its own.
        next = unsafe { libc::CMSG_NXTHDR(header, found) };
        Some(found)
    })
}
