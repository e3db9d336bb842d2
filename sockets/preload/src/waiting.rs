//! Reads that wait while another thread closes their descriptor. As in the kernel, they go on, and the socket ends with the last of them.

use crate::place::State;
use crate::process::{self, PLACES, Socket};
use crate::{errno, join, real};
use libc::c_int;
use std::sync::atomic::{AtomicI32, AtomicU16, Ordering};

/// The reads of this process that wait, for each place.
static READERS: [AtomicU16; PLACES as usize] = [const { AtomicU16::new(0) }; PLACES as usize];

/// The descriptor, plus one, that is kept for them behind the last one of the program.
static KEPT: [AtomicI32; PLACES as usize] = [const { AtomicI32::new(0) }; PLACES as usize];

/// A read that waits.
pub(crate) struct Waiting {
    number: u32,
}

impl Waiting {
    /// Counts a read in.
    pub(crate) fn begin(socket: Socket) -> Self {
        READERS[socket.number as usize].fetch_add(1, Ordering::SeqCst);
        Self { number: socket.number }
    }

    /// Returns the socket by a descriptor that it still has.
    pub(crate) fn socket(&self) -> Option<Socket> {
        process::sockets().find(|socket| socket.number == self.number)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if READERS[self.number as usize].fetch_sub(1, Ordering::SeqCst) == 1 {
            release(self.number);
        }
    }
}

/// Keeps a socket whose last descriptor is closed now, if reads wait for it.
pub(crate) fn keep(fd: c_int) {
    let Some(socket) = Socket::of(fd) else { return };
    let readers = &READERS[socket.number as usize];
    let is_awaited = readers.load(Ordering::SeqCst) > 0
        && socket.descriptors() == 1
        && socket.place.state() == State::Paired;
    if !is_awaited {
        return;
    }
    // SAFETY: the command takes a number.
    let kept = unsafe { real::fcntl(fd, libc::F_DUPFD_CLOEXEC, process::FIRST_OWN) };
    if kept < 0 || !process::set_own(kept, true) {
        return;
    }
    socket.duplicated(kept);
    KEPT[socket.number as usize].store(kept + 1, Ordering::SeqCst);
    // The last read may have ended meanwhile.
    if readers.load(Ordering::SeqCst) == 0 {
        release(socket.number);
    }
}

/// Ends a socket that was kept.
fn release(number: u32) {
    let kept = KEPT[number as usize].swap(0, Ordering::SeqCst) - 1;
    if kept < 0 {
        return;
    }
    let errno = errno::last();
    if let Some((socket, true)) = process::take(kept) {
        join::end(socket);
    }
    process::set_own(kept, false);
    // SAFETY: the descriptor is this library's.
    unsafe { real::close(kept) };
    errno::set(errno);
}

/// Forgets the reads of the parent, in a child.
pub(crate) fn forget_readers() {
    for socket in process::each_socket() {
        READERS[socket.number as usize].store(0, Ordering::SeqCst);
        release(socket.number);
    }
}
