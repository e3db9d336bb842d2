//! Calls that read and write, and the end of a direction.

use super::connect::{Settled, settle};
use crate::carried::entry::{self, Entry, Kind};
use crate::visit::{Own, part, send_with, wait};
use crate::{errno, kernel};
use libc::c_int;

/// Has libc do it, as the socket is one of the kernel's, and tells a cut from an end. One of datagrams has `datagram` do it.
#[inline]
pub(crate) fn call(
    fd: c_int,
    mut libc: impl FnMut() -> isize,
    datagram: impl FnOnce(&Entry) -> isize,
) -> isize {
    match entry::of(fd) {
        None => libc(),
        Some(entry) if entry.kind() == Kind::Datagrams => datagram(entry),
        Some(entry) => carried(fd, entry, libc),
    }
}

fn carried(fd: c_int, entry: &Entry, mut libc: impl FnMut() -> isize) -> isize {
    loop {
        match (entry.kind(), settle(fd, entry)) {
            (Kind::Listening, _) | (_, Settled::Failed(0)) => return errno::fail(libc::ENOTCONN),
            (_, Settled::Failed(error)) => return errno::fail(error),
            (_, Settled::Connected) => break,
            (_, Settled::NotYet) if kernel::is_nonblocking(fd) => return errno::fail(libc::EAGAIN),
            (_, Settled::NotYet) => {
                if wait(fd, libc::POLLOUT, -1) < 0 {
                    return -1;
                }
            }
        }
    }
    let done = libc();
    if done == 0 && is_cut(fd, entry) {
        return errno::fail(libc::ECONNRESET);
    }
    done
}

/// Returns true if a carrier on which nothing more comes was cut.
fn is_cut(fd: c_int, entry: &Entry) -> bool {
    // A read of no bytes returns none, too.
    !entry.is_shut()
        && kernel::events(fd, 0) & libc::POLLHUP != 0
        && kernel::peek(fd, libc::MSG_DONTWAIT) == 0
}

/// Returns true if a call connects by its first bytes, which is refused: the program then connects as others do.
pub(crate) fn is_fast_open(flags: c_int) -> bool {
    flags & libc::MSG_FASTOPEN != 0 && entry::is_on()
}

/// Prepares the end of the program's direction, so that a cut afterwards is none.
pub(crate) fn shutting(fd: c_int, how: c_int) {
    let Some(entry) = entry::of(fd) else { return };
    if how == libc::SHUT_RD
        || entry.kind() == Kind::Datagrams
        || settle(fd, entry) != Settled::Connected
        || !entry.shut()
    {
        return;
    }
    let kept = errno::last();
    // SAFETY: the call takes numbers.
    let beside = Own(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) });
    // A program that nobody reads from has no room for it: then a cut is an end.
    if beside.0 >= 0 {
        match send_with(fd, &[part(&[0])], &[beside.0], libc::MSG_DONTWAIT) {
            1 => _ = kernel::bell(fd),
            // The connection was cut before the direction ended.
            -1 if matches!(errno::last(), libc::EPIPE | libc::ECONNRESET) => entry.undo_shut(),
            _ => {}
        }
    }
    errno::set(kept);
}
