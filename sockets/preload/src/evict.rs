//! The way back: from memory to the kernel.

use crate::place::State;
use crate::process::Socket;
use crate::{join, kernel, real, reset, transmit};
use bertha_sockets_machine::Source;

/// The times that the other end is waited for, a fifth of a millisecond each.
const PATIENCE: u32 = 10_000;

/// Keeps a socket with the kernel, or has both of its directions go back there, without waiting: the stream is read as before until it
/// has arrived.
pub(crate) fn leave(socket: Socket) {
    match socket.place.state() {
        State::Kernel => {}
        State::Counting => socket.place.set_state(State::Kernel),
        State::Joining => join::give_up(socket),
        State::Paired => {
            ask(socket);
            give(socket);
            answer_own();
        }
    }
}

/// Answers for all sockets of this process: the other end may be one of them, whose thread waits for something else.
fn answer_own() {
    for socket in crate::process::sockets() {
        transmit::answer(socket);
    }
}

/// Asks the other end for the stream back.
fn ask(socket: Socket) {
    if let Some(mut receiving) = socket.receiving()
        && let Some((receiver, side)) = receiving.parts()
    {
        receiver.recall(side);
    }
    // The other end may sleep, and a bell rings only while this direction is in the ring.
    transmit::nudge(socket);
}

/// Gives the other end its stream back, first as it asks for it.
fn give(socket: Socket) {
    transmit::answer(socket);
    if let Some(mut sending) = socket.sending()
        && let Some((sender, side)) = sending.parts()
    {
        sender.bar(side);
    }
}

/// Has what the program writes go to the kernel from now on. Nobody has to answer to that.
pub(crate) fn leave_outwards(socket: Socket) {
    match socket.place.state() {
        State::Kernel => {}
        State::Paired => give(socket),
        State::Counting | State::Joining => leave(socket),
    }
}

/// Moves a socket to the kernel, and waits until it is there. Returns false if the other end does not answer, or if bytes lie in the
/// ring that the program has to read first.
pub(crate) fn leave_at_once(socket: Socket) -> bool {
    leave(socket);
    has_arrived(socket, &mut PATIENCE.clone())
}

/// Waits for a socket that goes back, as long as there is patience.
fn has_arrived(socket: Socket, patience: &mut u32) -> bool {
    loop {
        if socket.place.state() != State::Paired || arrive(socket) {
            return true;
        }
        if *patience == 0 {
            return false;
        }
        *patience -= 1;
        answer_own();
        kernel::sleep_briefly();
    }
}

/// Ends the use of memory, once both directions are back.
fn arrive(socket: Socket) -> bool {
    transmit::answer(socket);
    let Some(mut sending) = socket.sending() else { return false };
    let Some(mut receiving) = socket.receiving() else { return false };
    let (Some((sender, _)), Some((receiver, from))) = (sending.parts(), receiving.parts()) else {
        return true;
    };
    if !sender.is_barred() || sender.owed() > 0 {
        return false;
    }
    while let Ok(Source::Bells(bells @ 1..)) = receiver.next(from) {
        match kernel::discard(socket.fd, bells) {
            taken @ 1.. => receiver.took(taken as usize),
            _ => break,
        }
    }
    // A peer that has died may have counted a bell that it did not send.
    let is_over = kernel::events(socket.fd, libc::POLLRDHUP) != 0;
    let is_home = receiver.is_home(from).unwrap_or(false)
        || is_over && matches!(receiver.next(from), Ok(Source::Bells(_))) && !receiver.has_any(from);
    if is_home {
        socket.place.set_state(State::Kernel);
        join::restore(socket);
    }
    is_home
}

/// A new program that this process begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum New {
    /// The new program takes the place of this one.
    Exec,
    /// A child becomes it, with the descriptors of this process.
    Child,
    /// A child becomes it, with descriptors that may be chosen in a way that is not known here.
    Chosen,
}

/// Moves the sockets that a new program inherits to the kernel. A socket whose other end does not answer is not inherited.
pub(crate) fn before(new: New) {
    let mut patience = PATIENCE;
    // Each asks before any gives: both ends of a connection may be this process's.
    inherited(new).filter(|socket| socket.place.state() == State::Paired).for_each(ask);
    inherited(new).for_each(leave);
    for socket in inherited(new) {
        if has_arrived(socket, &mut patience) || is_closed_on_exec(socket.fd) {
            continue;
        }
        if new == New::Exec && socket.is_ours_alone() {
            // The stream has an end rather than wrong bytes.
            reset::reset(socket);
        } else {
            // SAFETY: the command takes a number.
            unsafe { real::fcntl(socket.fd, libc::F_SETFD, libc::FD_CLOEXEC as usize) };
        }
    }
}

fn inherited(new: New) -> impl Iterator<Item = Socket> {
    crate::process::sockets().filter(move |socket| new == New::Chosen || !is_closed_on_exec(socket.fd))
}

fn is_closed_on_exec(fd: libc::c_int) -> bool {
    // SAFETY: the command takes no argument.
    let flags = unsafe { real::fcntl(fd, libc::F_GETFD, 0) };
    flags < 0 || flags & libc::FD_CLOEXEC != 0
}
