//! Sockets that a new program inherits.

use crate::place::State;
use crate::process::{self, Socket};
use crate::time::Deadline;
use crate::{actions, evict, handover, kernel, real, relay, reset};
use bertha_sockets_machine::Why;
use libc::{c_int, posix_spawn_file_actions_t};

/// A new program that this process begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum New {
    /// The new program takes the place of this one.
    Exec,
    /// A child becomes it, with the descriptors of this process.
    Child,
    /// A child becomes it, with those that a list of actions leaves, or copies to other numbers.
    Chosen(*const posix_spawn_file_actions_t),
}

/// Moves the sockets that a new program inherits to the kernel. Where the other end of one does not answer, the daemon puts another socket
/// in its place, or, if this process or its parent keeps the socket, the new program gets what a forked child would have, if it runs
/// under this library, too. A socket for which there is neither is not inherited. Returns false if actions copy such a socket.
pub(crate) fn before(new: New) -> bool {
    let deadline = Deadline::after_milliseconds(evict::LONG);
    // Each asks before any gives: both ends of a connection may be this process's.
    inherited(new).filter(|socket| socket.place.state() == State::Paired).for_each(evict::ask);
    inherited(new).for_each(|socket| evict::leave(socket, Why::Started));
    // One wait for all of them: a socket may have many descriptors.
    let mut soon = None;
    let mut is_whole = true;
    for socket in inherited(new) {
        if evict::has_left(socket, deadline) {
            continue;
        }
        if new.may_copy(socket.fd) {
            is_whole &= relay::take_place_meanwhile(socket);
        } else if new == New::Exec
            && is_alone_by(socket, *soon.get_or_insert_with(|| Deadline::after_milliseconds(evict::BRIEF)))
        {
            if !relay::take_place(socket) {
                // The stream has an end rather than wrong bytes.
                reset::reset(socket);
            }
        } else {
            if evict::sever(socket) {
                handover::give(socket);
            }
            // SAFETY: the command takes a number.
            unsafe { real::fcntl(socket.fd, libc::F_SETFD, libc::FD_CLOEXEC as usize) };
        }
    }
    is_whole
}

impl New {
    fn may_copy(self, fd: c_int) -> bool {
        matches!(self, Self::Chosen(actions) if actions::may_copy(actions, fd))
    }
}

/// Returns true if no other process has the socket. A parent closes it soon, if it began this one to serve it.
fn is_alone_by(socket: Socket, deadline: Deadline) -> bool {
    while !socket.is_ours_alone() && !deadline.is_over() {
        kernel::sleep_briefly();
    }
    socket.is_ours_alone()
}

fn inherited(new: New) -> impl Iterator<Item = Socket> {
    process::sockets().filter(move |socket| new.may_copy(socket.fd) || !is_closed_on_exec(socket.fd))
}

fn is_closed_on_exec(fd: c_int) -> bool {
    // SAFETY: the command takes no argument.
    let flags = unsafe { real::fcntl(fd, libc::F_GETFD, 0) };
    flags < 0 || flags & libc::FD_CLOEXEC != 0
}
