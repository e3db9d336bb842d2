//! Bytes from the program.

use crate::parts::{NOTHING, PARTS, cut, is_plausible};
use crate::place::{LATE, Refused, Sending, State};
use crate::process::Socket;
use crate::reset::reset;
use crate::step::Step;
use crate::take::{self, keep_error};
use crate::{errno, kernel, real, settings};
use bertha_sockets_machine::control::Field;
use bertha_sockets_machine::{Sender, Side, Source};
use libc::{c_int, iovec};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

/// The work that is left to do without the lock.
enum Left {
    /// The ring took all.
    Nothing,
    /// The rest goes to the kernel, where the stream stays meanwhile.
    Carrier,
    /// The kernel has no room for bytes that go before.
    Owed,
    Failed(c_int),
    /// The kernel has told of an error, and does not tell of it again.
    Told(c_int),
    Elsewhere,
}

/// Sends the parts, as `sendmsg` does. Returns `None` if libc has to, since the socket has no memory any more.
pub(crate) fn transmit(socket: Socket, parts: &[iovec], flags: c_int) -> Option<isize> {
    loop {
        let mut sending = match socket.place.sending() {
            Ok(sending) => sending,
            Err(Refused::Again) => return Some(leave_behind(socket, parts)),
            Err(Refused::Torn) => {
                reset(socket);
                return Some(errno::fail(libc::ECONNRESET));
            }
        };
        let (pushed, left) = locked(socket, &mut sending, parts);
        unlock(socket, sending);
        match left {
            Left::Nothing => return Some(pushed as isize),
            Left::Elsewhere => return None,
            Left::Failed(errno) => {
                reset(socket);
                return Some(errno::fail(errno));
            }
            Left::Told(errno) => return Some(errno::fail(errno)),
            Left::Carrier => return Some(to_kernel(socket, parts, pushed, flags)),
            Left::Owed
                if flags & libc::MSG_DONTWAIT != 0 || socket.place.nonblocking.load(Ordering::Relaxed) =>
            {
                return Some(errno::fail(libc::EAGAIN));
            }
            Left::Owed => kernel::await_room(socket.fd, -1),
        }
    }
}

fn locked(socket: Socket, sending: &mut Sending<'_>, parts: &[iovec]) -> (usize, Left) {
    let is_paired = socket.is_current() && socket.place.state() == State::Paired;
    let Some((sender, side)) = sending.parts().filter(|_| is_paired) else { return (0, Left::Elsewhere) };
    if let Err(left) = settle(socket, sender, side) {
        return (0, left);
    }
    let is_closing = socket.place.is_shut.load(Ordering::Relaxed) || side.control.get(Field::Gone) != 0;
    if is_closing {
        sender.bar(side);
    }
    if settings::moves() > 0 && socket.place.is_time_to_move(settings::moves()) {
        sender.leave(side);
        sender.begin();
        return (0, Left::Carrier);
    }
    let mut pushed = 0;
    let mut is_whole = true;
    // The kernel answers for memory that is none.
    if parts.iter().all(is_plausible) && sender.enter(side) {
        let mut wakes = false;
        for part in parts {
            let bytes = bytes_of(part);
            match sender.push(side, bytes) {
                Ok(done) => {
                    pushed += done.bytes;
                    wakes |= done.wakes;
                    is_whole = done.bytes == bytes.len();
                }
                Err(_) => return (pushed, Left::Failed(libc::ECONNRESET)),
            }
            if !is_whole {
                break;
            }
        }
        // No bell tells of an end that was killed while it was awake. Its kernel answers to this one.
        let is_doubtful =
            !wakes && socket.place.is_time_to_ask() && kernel::events(socket.fd, libc::POLLRDHUP) != 0;
        if (wakes || is_doubtful) && !ring(socket, sender, side) {
            let errno = errno::last();
            sender.bar(side);
            if errno != libc::EPIPE {
                return (0, Left::Told(errno));
            }
            // The kernel tells of it again, and sends the signal.
            sender.begin();
            return (0, Left::Carrier);
        }
        if is_doubtful && !is_half_closed(socket) {
            sender.bar(side);
        }
        // A receiver that asks for the stream meanwhile may look into the ring no more.
        if sender.is_recalled(side)
            && let Err(left) = settle(socket, sender, side)
        {
            // What is owed is written, as far as the program is concerned.
            let is_written = matches!(left, Left::Owed) && pushed > 0;
            return (pushed, if is_written { Left::Nothing } else { left });
        }
        if is_whole && pushed > 0 {
            return (pushed, Left::Nothing);
        }
    }
    // The kernel knows how to wait for room.
    sender.leave(side);
    sender.begin();
    (pushed, Left::Carrier)
}

/// Returns true if nothing comes any more because one of the ends wants it so, while bytes still go. The caller has the lock.
fn is_half_closed(socket: Socket) -> bool {
    socket.place.is_read_shut.load(Ordering::Relaxed)
        || socket.place.side(false).is_some_and(|side| side.control.get(Field::Barred) == 1)
}

/// Ends what the program writes, behind what the other end has asked for.
pub(crate) fn shut(socket: Socket) {
    let sending = socket.place.sending();
    socket.place.is_shut.store(true, Ordering::Relaxed);
    if socket.place.state() == State::Paired
        && let Ok(mut sending) = sending
        && let Some((sender, side)) = sending.parts()
    {
        let _ = settle(socket, sender, side);
        // The kernel refuses bytes that the other end asks for later: they stay in the ring.
        sender.bar(side);
    }
}

/// Answers a receiver that asks for the stream, and sends what is owed. Returns false if there is no room for it.
pub(crate) fn answer(socket: Socket) -> bool {
    socket.sending().is_none_or(|sending| answer_locked(socket, sending))
}

/// Answers as [`answer`] does, where the descriptor is being closed.
pub(crate) fn answer_at_last(socket: Socket) -> bool {
    socket.place.sending().ok().is_none_or(|sending| answer_locked(socket, sending))
}

fn answer_locked(socket: Socket, mut sending: Sending<'_>) -> bool {
    match sending.parts() {
        Some((sender, side)) if socket.place.state() == State::Paired => {
            !matches!(settle(socket, sender, side), Err(Left::Owed))
        }
        _ => true,
    }
}

fn settle(socket: Socket, sender: &mut Sender, side: Side<'_, AtomicU64>) -> Result<(), Left> {
    if sender.is_recalled(side) {
        sender.yield_back(side);
    }
    while sender.owed() > 0 {
        let mut bytes = [0_u8; 4096];
        let copied = sender.copy_owed(side, &mut bytes);
        if copied == 0 {
            sender.forget_owed();
            return Err(Left::Failed(libc::ECONNRESET));
        }
        // SAFETY: the buffer has so many bytes.
        let sent = unsafe {
            real::send(socket.fd, bytes.as_ptr().cast(), copied, libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL)
        };
        match usize::try_from(sent) {
            Ok(sent) => sender.repaid(side, sent),
            Err(_) if errno::last() == libc::EAGAIN => return Err(Left::Owed),
            Err(_) => {
                keep_error(socket, sent);
                sender.forget_owed();
            }
        }
    }
    Ok(())
}

/// Sends a bell. Returns false if the connection is over.
fn ring(socket: Socket, sender: &mut Sender, side: Side<'_, AtomicU64>) -> bool {
    if !sender.ring(side) || kernel::bell(socket.fd) == 1 {
        return true;
    }
    sender.unrung(side);
    // If there is no room for a bell, bells are on their way.
    errno::last() == libc::EAGAIN
}

/// Wakes the other end, if the stream is in the ring and that end is there: a bell to one that is not would be answered by a reset.
pub(crate) fn nudge(socket: Socket) {
    if kernel::events(socket.fd, libc::POLLRDHUP) == 0
        && let Some(mut sending) = socket.sending()
        && let Some((sender, side)) = sending.parts()
        && socket.place.state() == State::Paired
        && sender.enter(side)
    {
        ring(socket, sender, side);
    }
}

/// Takes the bells that the last read has left, where nothing comes behind them: if this process were killed, the kernel would reset the
/// connection for them, and its other end would lose what lies on the carrier.
fn take_stale_bells(socket: Socket) {
    let Some(mut receiving) = socket.receiving() else { return };
    if let Some((receiver, side)) = receiving.parts()
        && socket.place.state() == State::Paired
        && let Ok(Source::Bells(1..)) = receiver.next(side)
    {
        keep_error(socket, take::discard_bells(socket, receiver, side));
    }
}

/// Sends what did not go into the ring, as the program asked.
fn to_kernel(socket: Socket, parts: &[iovec], skip: usize, flags: c_int) -> isize {
    let mut rest = [NOTHING; PARTS];
    let count = cut(parts, skip, usize::MAX, &mut rest);
    let header = kernel::header(&rest[..count]);
    take_stale_bells(socket);
    let kept = if skip == 0 { take::pending(socket) } else { Step::Empty };
    let sent = match kept {
        // The kernel tells of it no more, and would send a signal.
        Step::Failed(errno) => errno::fail(errno),
        // SAFETY: the header has parts of the program's memory.
        _ => unsafe { real::sendmsg(socket.fd, &raw const header, flags & !libc::MSG_MORE) },
    };
    let errno = errno::last();
    if let Some(mut sending) = socket.sending() {
        if let Some((sender, _)) = sending.parts() {
            sender.wrote(usize::try_from(sent).unwrap_or(0));
        }
        unlock(socket, sending);
    }
    match sent {
        0.. => skip as isize + sent,
        _ if skip > 0 => skip as isize,
        _ => errno::fail(errno),
    }
}

/// Leaves bytes with the write that this handler of a signal interrupts.
#[cold]
fn leave_behind(socket: Socket, parts: &[iovec]) -> isize {
    let mut before = socket.place.late_bytes.load(Ordering::Relaxed) as usize;
    let mut left = 0;
    for part in parts {
        let bytes = bytes_of(part);
        let now = bytes.len().min(LATE - before);
        // SAFETY: the lock belongs to this thread, whose other code waits for this handler.
        let late = unsafe { &mut *socket.place.late.get() };
        late[before..before + now].copy_from_slice(&bytes[..now]);
        before += now;
        left += now;
        if now < bytes.len() {
            break;
        }
    }
    socket.place.late_bytes.store(before as u32, Ordering::Relaxed);
    if left == 0 { errno::fail(libc::EAGAIN) } else { left as isize }
}

/// Frees the lock, and sends what handlers of signals have left meanwhile.
#[inline]
fn unlock(socket: Socket, sending: Sending<'_>) {
    drop(sending);
    // A handler may come up to the end of the lock, so this is looked at behind it.
    while socket.place.late_bytes.load(Ordering::Relaxed) > 0 {
        let Some(mut sending) = socket.sending() else { break };
        send_late(socket, &mut sending);
    }
}

#[cold]
fn send_late(socket: Socket, sending: &mut Sending<'_>) {
    let bytes = socket.place.late_bytes.swap(0, Ordering::Relaxed) as usize;
    let Some((sender, side)) = sending.parts() else { return };
    // SAFETY: the lock, which `sending` proves, gives access to this thread alone.
    let late = unsafe { *socket.place.late.get() };
    let mut rest = &late[..bytes.min(LATE)];
    if sender.enter(side)
        && let Ok(pushed) = sender.push(side, rest)
    {
        rest = &rest[pushed.bytes..];
        if pushed.wakes {
            ring(socket, sender, side);
        }
        if sender.is_recalled(side) {
            let _ = settle(socket, sender, side);
        }
    }
    if !rest.is_empty() {
        sender.leave(side);
        sender.begin();
        // SAFETY: the buffer has so many bytes.
        let sent = unsafe { real::send(socket.fd, rest.as_ptr().cast(), rest.len(), libc::MSG_NOSIGNAL) };
        sender.wrote(usize::try_from(sent).unwrap_or(0));
    }
}

fn bytes_of(part: &iovec) -> &[u8] {
    if part.iov_len == 0 {
        return &[];
    }
    // SAFETY: the program gives this memory for the call.
    unsafe { slice::from_raw_parts(part.iov_base.cast(), part.iov_len) }
}
