//! The way back: from memory to the kernel.

use crate::place::State;
use crate::process::{self, Socket};
use crate::take::{discard_bells, keep_error};
use crate::time::Deadline;
use crate::{join, kernel, ready, transmit, watch};
use bertha_sockets_machine::control::Field;
use bertha_sockets_machine::{Receiver, Side, Source, Why};
use libc::c_int;
use std::sync::atomic::AtomicU64;

/// The milliseconds that the other end is waited for where nothing else helps.
pub(crate) const LONG: c_int = 2000;

/// The milliseconds that it is waited for where something else helps.
pub(crate) const BRIEF: c_int = 100;

/// Keeps a socket with the kernel, or has both of its directions go back there, without waiting: the stream is read as before until it
/// has arrived.
pub(crate) fn leave(socket: Socket, why: Why) {
    leave_inwards(socket, why);
    if socket.place.state() == State::Paired {
        give(socket);
    }
}

/// Has what comes for the program come by the kernel, as [`leave`] does. What it writes stays where it is.
pub(crate) fn leave_inwards(socket: Socket, why: Why) {
    // It may get its memory just now.
    join::give_up(socket, Some(why));
    match socket.place.state() {
        State::Counting if !socket.place.go_on_from(State::Counting, State::Kernel) => {
            leave_inwards(socket, why);
        }
        State::Paired => {
            tell(socket, why);
            ask(socket);
            answer_own();
        }
        _ => {}
    }
}

/// Tells who asks for the list why the stream goes back, if nothing was told before.
fn tell(socket: Socket, why: Why) {
    if let Some(mut sending) = socket.sending()
        && let Some((_, side)) = sending.parts()
        && side.control.get(Field::Why) == 0
    {
        side.control.set(Field::Why, why as u64);
    }
}

/// Answers for all sockets of this process: the other end may be one of them, whose thread waits for something else.
fn answer_own() {
    for socket in process::sockets() {
        transmit::answer(socket);
    }
}

/// Asks the other end for the stream back.
pub(crate) fn ask(socket: Socket) {
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
pub(crate) fn leave_outwards(socket: Socket, why: Why) {
    match socket.place.state() {
        State::Kernel => {}
        State::Paired => {
            tell(socket, why);
            give(socket);
        }
        State::Counting | State::Joining | State::Attaching => leave(socket, why),
    }
}

/// Moves a socket to the kernel, and waits until it is there. Returns false if the other end does not answer, or if bytes lie in the
/// ring that the program has to read first.
pub(crate) fn leave_at_once(socket: Socket, why: Why) -> bool {
    leave(socket, why);
    has_left(socket, Deadline::after_milliseconds(LONG))
}

/// Moves a socket to the kernel as [`leave_at_once`] does, with less patience.
pub(crate) fn leave_soon(socket: Socket, why: Why) -> bool {
    leave(socket, why);
    has_left(socket, Deadline::after_milliseconds(BRIEF))
}

/// Has what comes for the program come by the kernel, which tells who waits for it. Waits for bells, and not for bytes that lie in the
/// ring.
pub(crate) fn leave_to_watch(socket: Socket) {
    leave_inwards(socket, Why::Watched);
    let is_known = |socket| is_home(socket) || ready::is_ready(socket);
    has_arrived(socket, is_known, Deadline::after_milliseconds(BRIEF));
    watch::settle(socket);
}

/// Waits until a socket that [leaves](leave) is with the kernel. Returns false at the deadline, or if bytes lie in the ring that the other end
/// does not send again.
pub(crate) fn has_left(socket: Socket, deadline: Deadline) -> bool {
    has_arrived(socket, arrive, deadline)
}

/// Waits for a socket that goes back, until the deadline.
fn has_arrived(socket: Socket, arrive: fn(Socket) -> bool, deadline: Deadline) -> bool {
    loop {
        if socket.place.state() != State::Paired || arrive(socket) {
            return true;
        }
        // Who has left the ring by itself sends nothing again.
        if ready::is_left_behind(socket) || deadline.is_over() {
            return false;
        }
        answer_own();
        kernel::sleep_briefly();
    }
}

/// Takes the stream back where the other end does not answer: what lies in the ring comes from there, and then all comes by the kernel.
/// Returns false if that end moves the stream just now, or has not been given what it has asked for.
pub(crate) fn sever(socket: Socket) -> bool {
    let deadline = Deadline::after_milliseconds(BRIEF);
    while !is_severed(socket) {
        if deadline.is_over() {
            return false;
        }
        kernel::sleep_briefly();
    }
    true
}

fn is_severed(socket: Socket) -> bool {
    leave(socket, Why::Started);
    let Some(mut sending) = socket.sending() else { return false };
    let Some(mut receiving) = socket.receiving() else { return false };
    let (Some((sender, _)), Some((receiver, from))) = (sending.parts(), receiving.parts()) else {
        return false;
    };
    // What has come before the end is there once the end is.
    let is_over = kernel::events(socket.fd, libc::POLLRDHUP) != 0;
    let unread = kernel::unread(socket.fd).unwrap_or(0);
    sender.is_barred() && sender.owed() == 0 && receiver.sever(from, unread, is_over) == Ok(true)
}

/// Ends the use of memory, once both directions are back.
fn arrive(socket: Socket) -> bool {
    transmit::answer(socket);
    let Some(mut sending) = socket.sending() else { return false };
    let Some(mut receiving) = socket.receiving() else { return false };
    let (Some((sender, _)), Some((receiver, from))) = (sending.parts(), receiving.parts()) else {
        return true;
    };
    if !sender.is_barred() || sender.owed() > 0 || !has_all_come(socket, receiver, from) {
        return false;
    }
    socket.place.set_state(State::Kernel);
    join::restore(socket);
    true
}

/// Returns true if everything that comes for the program is with the kernel.
pub(crate) fn is_home(socket: Socket) -> bool {
    transmit::answer(socket);
    let Some(mut receiving) = socket.receiving() else { return false };
    receiving.parts().is_none_or(|(receiver, from)| has_all_come(socket, receiver, from))
}

/// Takes bells, and returns true if everything else that comes for the program is with the kernel. The caller has the lock.
pub(crate) fn has_all_come(socket: Socket, receiver: &mut Receiver, from: Side<'_, AtomicU64>) -> bool {
    while let Ok(Source::Bells(1..)) = receiver.next(from) {
        let taken = discard_bells(socket, receiver, from);
        if taken <= 0 {
            keep_error(socket, taken);
            break;
        }
    }
    // A peer that has died may have counted a bell that it did not send.
    let is_over = kernel::events(socket.fd, libc::POLLRDHUP) != 0;
    receiver.is_home(from).unwrap_or(false)
        || is_over && matches!(receiver.next(from), Ok(Source::Bells(_))) && !receiver.has_any(from)
}
