//! Reads that wait while another thread closes their descriptor. As in the kernel, they go on, and the socket ends with the last of them.

use crate::place::State;
use crate::process::{self, PLACES, Socket};
use crate::{errno, join, real};
use libc::c_int;
use std::cell::Cell;
use std::sync::atomic::{AtomicI32, AtomicU16, Ordering};

/// The reads of this process that wait, for each place.
static READERS: [AtomicU16; PLACES as usize] = [const { AtomicU16::new(0) }; PLACES as usize];

/// The descriptor, plus one, that is kept for them behind the last one of the program.
static KEPT: [AtomicI32; PLACES as usize] = [const { AtomicI32::new(0) }; PLACES as usize];

thread_local! {
    /// The number, plus one, of the place for which a read of this thread waits.
    static AWAITED: Cell<u32> = const { Cell::new(0) };
}

/// A read that waits.
pub(crate) struct Waiting {
    number: u32,
    /// The place, plus one, for which a read waits that a handler of a signal interrupted with this one.
    outer: u32,
}

impl Waiting {
    /// Counts a read in.
    pub(crate) fn begin(socket: Socket) -> Self {
        // A jump finds the place in each moment in which the read is counted, and in one before and behind that.
        let outer = AWAITED.replace(socket.number + 1);
        READERS[socket.number as usize].fetch_add(1, Ordering::SeqCst);
        Self { number: socket.number, outer }
    }

    /// Returns the socket by a descriptor that it still has.
    pub(crate) fn socket(&self) -> Option<Socket> {
        process::sockets().find(|socket| socket.number == self.number)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if AWAITED.get() == self.number + 1 {
            count_out(self.number);
        }
        AWAITED.set(self.outer);
    }
}

/// Ends the read of this thread that waits, since the thread jumps out of it.
pub(crate) fn give_up() {
    let awaited = AWAITED.get();
    if awaited != 0 {
        count_out(awaited - 1);
        AWAITED.set(0);
    }
}

/// Counts a read out, if there is one: a jump may come before the read was counted, or behind that.
fn count_out(number: u32) {
    let less = |readers: u16| readers.checked_sub(1);
    if READERS[number as usize].fetch_update(Ordering::SeqCst, Ordering::SeqCst, less) == Ok(1) {
        release(number);
    }
}

/// Returns true if reads of this process wait for a socket, or are about to.
pub(crate) fn is_awaited(number: u32) -> bool {
    READERS[number as usize].load(Ordering::SeqCst) > 0
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
