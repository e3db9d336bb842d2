//! Bytes to the program.

use crate::place::{Receiving, Refused, State};
use crate::process::Socket;
use crate::reset::reset;
use crate::{errno, kernel, ready, real, transmit};
use bertha_sockets_machine::control::{CLOSED, Field};
use bertha_sockets_machine::{Broken, Source};
use libc::{c_int, iovec};
use std::slice;
use std::sync::atomic::Ordering;

/// The times that a receiver wakes up for nothing before the other end has broken the rules.
const IDLE: u32 = 64;

/// The outcome of a try.
enum Step {
    Got(usize),
    /// Nothing is there now.
    Empty,
    End,
    Failed(c_int),
    /// The descriptor is not this socket's any more, or the socket has no memory any more.
    Elsewhere,
}

/// Receives into the parts, as `recvmsg` does. Returns `None` if libc has to, since the socket has no memory any more.
pub(crate) fn receive(socket: Socket, parts: &[iovec], flags: c_int) -> Option<isize> {
    let wanted: usize = parts.iter().map(|part| part.iov_len).sum();
    let mut got = 0;
    let mut idle = 0;
    loop {
        match step(socket, parts, got, flags) {
            Step::Got(bytes) => {
                got += bytes;
                let goes_on = flags & libc::MSG_WAITALL != 0 && flags & libc::MSG_PEEK == 0 && got < wanted;
                if !goes_on {
                    return Some(got as isize);
                }
                idle = 0;
                continue;
            }
            Step::Elsewhere if got == 0 => return None,
            Step::End | Step::Elsewhere => return Some(got as isize),
            Step::Failed(errno) if got > 0 => {
                socket.place.error.store(errno, Ordering::Relaxed);
                return Some(got as isize);
            }
            Step::Failed(errno) => return Some(last(socket, errno)),
            Step::Empty if wanted == 0 => return Some(0),
            // The other end may have rung to have the stream back.
            Step::Empty => drop(transmit::answer(socket)),
        }
        idle += 1;
        if idle > IDLE {
            reset(socket);
            return Some(errno::fail(libc::ECONNRESET));
        }
        // The kernel waits as the socket says, wakes up for a bell, and tells of the end.
        let is_brief = flags & libc::MSG_DONTWAIT != 0 || socket.place.nonblocking.load(Ordering::Relaxed);
        if !is_brief && !ready::fall_asleep(socket) {
            continue;
        }
        let seen = kernel::peek(socket.fd, if is_brief { libc::MSG_DONTWAIT } else { 0 });
        if seen > 0 {
            continue;
        }
        let errno = errno::last();
        if seen < 0 && matches!(errno, libc::EAGAIN | libc::EINTR) {
            return Some(if got > 0 { got as isize } else { errno::fail(errno) });
        }
        // Everything in the ring came before the end.
        match (ready::is_ready(socket), seen) {
            (true, 0) => {}
            (true, _) => socket.place.error.store(errno, Ordering::Relaxed),
            (false, 0) => return Some(got as isize),
            (false, _) if got > 0 => {
                socket.place.error.store(errno, Ordering::Relaxed);
                return Some(got as isize);
            }
            (false, _) => return Some(last(socket, errno)),
        }
    }
}

/// Tells of an error at the end of the stream. A reset that a bell on its way to a closed socket caused is no reset.
fn last(socket: Socket, errno: c_int) -> isize {
    let ended = socket.receiving().and_then(|mut receiving| {
        let (_, side) = receiving.parts()?;
        Some(side.control.get(Field::Ended))
    });
    if errno == libc::ECONNRESET && ended == Some(CLOSED) { 0 } else { errno::fail(errno) }
}

fn step(socket: Socket, parts: &[iovec], skip: usize, flags: c_int) -> Step {
    let mut receiving = match socket.place.receiving() {
        Ok(receiving) => receiving,
        Err(Refused::Again) => return Step::Failed(libc::EAGAIN),
        Err(Refused::Torn) => {
            reset(socket);
            return Step::Failed(libc::ECONNRESET);
        }
    };
    if !socket.is_current() || socket.place.state() != State::Paired {
        return Step::Elsewhere;
    }
    match locked(socket, &mut receiving, parts, skip, flags) {
        Ok(step) => step,
        Err(_) => {
            drop(receiving);
            reset(socket);
            Step::Failed(libc::ECONNRESET)
        }
    }
}

fn locked(
    socket: Socket,
    receiving: &mut Receiving<'_>,
    parts: &[iovec],
    skip: usize,
    flags: c_int,
) -> Result<Step, Broken> {
    let Some((receiver, side)) = receiving.parts() else { return Ok(Step::Elsewhere) };
    let is_peek = flags & libc::MSG_PEEK != 0;
    // Each round follows a move, takes bells, or ends.
    for _ in 0..IDLE {
        match receiver.next(side)? {
            Source::Ring => {
                let mut got = 0;
                if is_peek {
                    // A look ahead goes through one part.
                    if let Some(part) = rest(parts, skip).next() {
                        got = receiver.copy(side, part, true)?;
                    }
                    return Ok(if got > 0 { Step::Got(got) } else { Step::Empty });
                }
                for part in rest(parts, skip) {
                    let room = part.len();
                    let copied = match receiver.copy(side, part, false) {
                        Ok(copied) => copied,
                        Err(broken) if got == 0 => return Err(broken),
                        Err(_) => 0,
                    };
                    got += copied;
                    if copied < room {
                        break;
                    }
                }
                return Ok(if got > 0 { Step::Got(got) } else { Step::Empty });
            }
            Source::Bells(0) => return Ok(pending(socket)),
            Source::Bells(bells) => match kernel::discard(socket.fd, bells) {
                taken @ 1.. => receiver.took(taken as usize),
                0 if matches!(receiver.next(side)?, Source::Ring) => {}
                0 => return Ok(Step::End),
                _ => match errno::last() {
                    libc::EAGAIN => return Ok(pending(socket)),
                    errno if matches!(receiver.next(side)?, Source::Ring) => {
                        socket.place.error.store(errno, Ordering::Relaxed);
                    }
                    errno => return Ok(Step::Failed(errno)),
                },
            },
            Source::Carrier => {
                let seen = peek(socket.fd, parts, skip);
                if seen <= 0 {
                    let errno = errno::last();
                    if matches!(receiver.next(side)?, Source::Ring) {
                        continue;
                    }
                    return Ok(match seen {
                        0 if rest(parts, skip).next().is_none() => Step::Empty,
                        0 => Step::End,
                        _ if errno == libc::EAGAIN => pending(socket),
                        _ => Step::Failed(errno),
                    });
                }
                let data = receiver.data_among(side, seen as usize)?;
                if data == 0 {
                    continue;
                }
                if !is_peek {
                    let taken = kernel::discard(socket.fd, data as u64);
                    if taken != data as isize {
                        // Another process without this library took them.
                        return Err(Broken::Position(data as u64));
                    }
                    receiver.took(data);
                }
                return Ok(Step::Got(data));
            }
        }
    }
    Ok(Step::Empty)
}

/// An error that the kernel told of while there were bytes in the ring.
fn pending(socket: Socket) -> Step {
    match socket.place.error.swap(0, Ordering::Relaxed) {
        0 => Step::Empty,
        errno => Step::Failed(errno),
    }
}

/// Looks at bytes on the carrier.
fn peek(fd: c_int, parts: &[iovec], skip: usize) -> isize {
    let Some(first) = rest(parts, skip).next() else { return 0 };
    // SAFETY: the part is memory of the program.
    unsafe { real::recv(fd, first.as_mut_ptr().cast(), first.len(), libc::MSG_PEEK | libc::MSG_DONTWAIT) }
}

/// Returns the parts behind the first `skip` bytes.
fn rest(parts: &[iovec], skip: usize) -> impl Iterator<Item = &mut [u8]> {
    let mut skip = skip;
    parts.iter().filter_map(move |part| {
        let skipped = skip.min(part.iov_len);
        skip -= skipped;
        let start = part.iov_base.cast::<u8>().wrapping_add(skipped);
        let len = part.iov_len - skipped;
        // SAFETY: the program gives this memory for the call.
        (len > 0).then(|| unsafe { slice::from_raw_parts_mut(start, len) })
    })
}
