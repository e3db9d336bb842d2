//! Bytes that a program takes, as many as there are, wherever they lie.

use crate::parts::{NOTHING, PARTS, cut, length, rest};
use crate::process::Socket;
use crate::step::{IDLE, Step};
use crate::{errno, kernel, real};
use bertha_sockets_machine::{Broken, Receiver, Side, Source};
use libc::{c_int, iovec};
use std::sync::atomic::{AtomicU64, Ordering};

type Words<'a> = Side<'a, AtomicU64>;

/// Takes bytes for the parts behind the first `skip` bytes, without waiting.
pub(crate) fn take(
    socket: Socket,
    receiver: &mut Receiver,
    side: Words<'_>,
    parts: &[iovec],
    skip: usize,
) -> Result<Step, Broken> {
    let wanted = length(parts) - skip;
    let mut got = 0;
    // Each round takes bytes or bells, follows a move, or ends.
    for _ in 0..IDLE {
        let ends = match receiver.next(side) {
            Ok(Source::Ring) => match from_ring(receiver, side, parts, skip + got) {
                Ok(0) if matches!(receiver.next(side), Ok(Source::Ring)) => Some(Step::Failed(libc::EFAULT)),
                Ok(0) => None,
                Ok(bytes) => {
                    got += bytes;
                    None
                }
                Err(_) if got > 0 => Some(Step::Empty),
                Err(broken) => return Err(broken),
            },
            // The bells are left to the next call, as long as nothing comes behind them.
            Ok(Source::Bells(_)) if got > 0 && !receiver.is_left(side) => Some(Step::Empty),
            Ok(Source::Bells(bells)) => take_bells(socket, receiver, side, bells),
            Ok(Source::Carrier) => match from_carrier(socket, receiver, side, parts, skip + got)? {
                Step::Got(bytes) => {
                    got += bytes;
                    None
                }
                Step::Empty if matches!(receiver.next(side), Ok(Source::Ring | Source::Bells(_))) => None,
                step => Some(step),
            },
            Err(_) if got > 0 => Some(Step::Empty),
            Err(broken) => return Err(broken),
        };
        match ends {
            None if got < wanted => {}
            // The next call tells of an error, and the kernel does not tell of it twice.
            Some(Step::Failed(errno)) if got > 0 && errno != libc::EFAULT => {
                socket.place.error.store(errno, Ordering::Relaxed);
                break;
            }
            Some(step) if got == 0 => {
                return Ok(if matches!(step, Step::Empty) { pending(socket) } else { step });
            }
            _ => break,
        }
    }
    Ok(if got > 0 { Step::Got(got) } else { Step::Empty })
}

/// Takes bytes out of the ring, none if the program has no memory for them.
fn from_ring(
    receiver: &mut Receiver,
    side: Words<'_>,
    parts: &[iovec],
    skip: usize,
) -> Result<usize, Broken> {
    let mut got = 0;
    for part in rest(parts, skip) {
        let room = part.len();
        let taken = match receiver.take(side, part) {
            Ok(taken) => taken,
            Err(broken) if got == 0 => return Err(broken),
            Err(_) => 0,
        };
        got += taken;
        if taken < room {
            break;
        }
    }
    Ok(got)
}

/// Takes bells that come before anything else. Returns nothing if there may be bytes now.
pub(crate) fn take_bells(
    socket: Socket,
    receiver: &mut Receiver,
    side: Words<'_>,
    bells: u64,
) -> Option<Step> {
    if bells == 0 {
        return Some(Step::Empty);
    }
    let taken = discard_bells(socket, receiver, side);
    if taken > 0 {
        return None;
    }
    let errno = errno::last();
    let has_bytes = matches!(receiver.next(side), Ok(Source::Ring));
    match (taken, errno) {
        (0, _) => (!has_bytes).then_some(Step::End),
        (_, libc::EAGAIN) => (!has_bytes).then_some(Step::Empty),
        (_, errno) if has_bytes => {
            socket.place.error.store(errno, Ordering::Relaxed);
            None
        }
        (_, errno) => Some(Step::Failed(errno)),
    }
}

/// Takes bells from the carrier, as many as there are. Returns what `recv` does, and does not wait.
///
/// A bell that the kernel did not take was counted for a moment, and a byte of the stream may lie in its place by now. So the bytes are
/// counted first, and the words are read behind that: as long as they tell of no move, all these bytes are bells.
pub(crate) fn discard_bells(socket: Socket, receiver: &mut Receiver, side: Words<'_>) -> isize {
    for _ in 0..IDLE {
        let unread = kernel::unread(socket.fd).unwrap_or(0);
        let bells = match receiver.next(side) {
            Ok(Source::Bells(bells)) => bells,
            Ok(Source::Ring) => receiver.bells(side),
            _ => break,
        };
        if bells.min(unread) > 0 {
            let taken = kernel::discard(socket.fd, bells.min(unread));
            receiver.took(usize::try_from(taken).unwrap_or(0));
            return taken;
        }
        // The end, an error, or a byte that has come just now.
        let seen = kernel::peek(socket.fd, libc::MSG_DONTWAIT);
        if seen <= 0 {
            return seen;
        }
        if bells == 0 {
            break;
        }
    }
    errno::fail(libc::EAGAIN)
}

/// Takes bytes from the carrier: looks at them first, and then asks which of them are the stream's.
fn from_carrier(
    socket: Socket,
    receiver: &mut Receiver,
    side: Words<'_>,
    parts: &[iovec],
    skip: usize,
) -> Result<Step, Broken> {
    let mut some = [NOTHING; PARTS];
    let count = cut(parts, skip, usize::MAX, &mut some);
    let data = match peek(socket.fd, &some[..count]) {
        Ok(seen) => receiver.data_among(side, seen)?,
        Err(step) => return Ok(step),
    };
    if data == 0 {
        return Ok(Step::Empty);
    }
    if kernel::discard(socket.fd, data as u64) != data as isize {
        // Another process without this library took them.
        return Err(Broken::Position(data as u64));
    }
    receiver.took(data);
    Ok(Step::Got(data))
}

/// Looks at bytes on the carrier.
pub(crate) fn peek(fd: c_int, parts: &[iovec]) -> Result<usize, Step> {
    if parts.is_empty() {
        return Err(Step::Empty);
    }
    let mut header = kernel::header(parts);
    // SAFETY: the parts are memory of the program, as far as it knows.
    let seen = unsafe { real::recvmsg(fd, &raw mut header, libc::MSG_PEEK | libc::MSG_DONTWAIT) };
    match seen {
        1.. => Ok(seen as usize),
        0 => Err(Step::End),
        _ => Err(match errno::last() {
            libc::EAGAIN => Step::Empty,
            errno => Step::Failed(errno),
        }),
    }
}

/// Keeps an error of which the kernel tells once, for the next call that fails.
pub(crate) fn keep_error(socket: Socket, done: isize) {
    let errno = errno::last();
    if done < 0 && errno != libc::EAGAIN && errno != libc::EPIPE {
        socket.place.error.store(errno, Ordering::Relaxed);
    }
}

/// Returns an error that the kernel told of while there were bytes before it, once.
pub(crate) fn pending(socket: Socket) -> Step {
    match socket.place.error.swap(0, Ordering::Relaxed) {
        0 => Step::Empty,
        errno => Step::Failed(errno),
    }
}
