//! Bytes to the program.

use crate::parts::{NOTHING, PARTS, length};
use crate::place::{Receiving, Refused, State};
use crate::process::Socket;
use crate::reset::reset;
use crate::step::{IDLE, Step};
use crate::time::Deadline;
use crate::waiting::Waiting;
use crate::{errno, evict, kernel, look, ready, spin, take, transmit, watch};
use bertha_sockets_machine::control::{CLOSED, Field};
use bertha_sockets_machine::{Broken, Why};
use libc::{c_int, iovec};
use std::ptr::from_mut;
use std::sync::atomic::Ordering;

/// Receives into the parts, as `recvmsg` does. Returns `None` if libc has to, since the socket has no memory any more.
pub(crate) fn receive(socket: Socket, parts: &[iovec], flags: c_int) -> Option<isize> {
    if flags & libc::MSG_PEEK != 0 && flags & libc::MSG_WAITALL != 0 {
        return peek_all(socket, parts, flags);
    }
    let wanted = length(parts);
    if wanted == 0 {
        return await_byte(socket, flags);
    }
    let (mut socket, mut waiting) = (socket, None);
    let mut got = 0;
    let mut idle = 0;
    loop {
        let step = step(socket, parts, got, flags);
        if matches!(step, Step::Got(_) | Step::Empty) {
            watch::read(socket);
        }
        match step {
            Step::Got(bytes) => {
                got += bytes;
                watch::taken(socket);
                if flags & libc::MSG_WAITALL == 0 || got == wanted {
                    return Some(got as isize);
                }
                idle = 0;
                continue;
            }
            Step::Elsewhere if got == 0 => return None,
            Step::End if got == 0 => return Some(end(socket)),
            Step::End | Step::Elsewhere => return Some(got as isize),
            Step::Failed(errno) if got > 0 => {
                socket.place.error.store(errno, Ordering::Relaxed);
                return Some(got as isize);
            }
            Step::Failed(errno) => return Some(last(socket, errno)),
            // The other end may have rung to have the stream back.
            Step::Empty => drop(transmit::answer(socket)),
        }
        idle += 1;
        if idle > IDLE {
            reset(socket);
            return Some(errno::fail(libc::ECONNRESET));
        }
        // The kernel waits as the socket says, wakes up for a bell, and tells of the end.
        let is_brief = is_brief(socket, flags);
        if !is_brief {
            if spin::for_one(socket) {
                continue;
            }
            // Before the lock is taken by which the wait begins: another thread that has the lock knows of all that wait.
            waiting.get_or_insert_with(|| Waiting::begin(socket));
            if !ready::fall_asleep(socket) {
                continue;
            }
        }
        let seen = if is_brief {
            kernel::peek(socket.fd, libc::MSG_DONTWAIT)
        } else {
            let waiting = waiting.get_or_insert_with(|| Waiting::begin(socket));
            let seen = kernel::peek(socket.fd, 0);
            if !socket.is_current() {
                // Another thread has closed the descriptor, and this read still has the socket.
                let errno = errno::last();
                socket = waiting.socket().unwrap_or(socket);
                errno::set(errno);
            }
            seen
        };
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
            (false, 0) if got == 0 => return Some(end(socket)),
            (false, 0) => return Some(got as isize),
            (false, _) if got > 0 => {
                socket.place.error.store(errno, Ordering::Relaxed);
                return Some(got as isize);
            }
            (false, _) => return Some(last(socket, errno)),
        }
    }
}

fn is_brief(socket: Socket, flags: c_int) -> bool {
    flags & libc::MSG_DONTWAIT != 0 || socket.place.nonblocking.load(Ordering::Relaxed)
}

/// Looks until everything is there that the program asks for. No bell tells of the last byte, since the first ones stay.
#[cold]
fn peek_all(socket: Socket, parts: &[iovec], flags: c_int) -> Option<isize> {
    let flags = flags & !libc::MSG_WAITALL;
    let deadline = Deadline::after(kernel::receive_time(socket.fd).as_ref());
    loop {
        let got = receive(socket, parts, flags)?;
        let is_all = got <= 0 || got as usize == length(parts);
        let is_over = is_all
            || is_brief(socket, flags)
            || deadline.is_over()
            || kernel::events(socket.fd, libc::POLLRDHUP) != 0;
        if is_over || !kernel::sleep_briefly() {
            return Some(got);
        }
    }
}

/// Receives bytes that the program does not want to have.
#[cold]
pub(crate) fn receive_and_drop(socket: Socket, bytes: usize, flags: c_int) -> Option<isize> {
    let mut nobody = [0_u8; 4096];
    let mut parts = [NOTHING; PARTS];
    let mut left = bytes;
    for part in &mut parts {
        *part = iovec { iov_base: nobody.as_mut_ptr().cast(), iov_len: left.min(nobody.len()) };
        left -= part.iov_len;
    }
    receive(socket, &parts, flags)
}

/// Receives nothing, which waits for a byte and leaves it.
#[cold]
fn await_byte(socket: Socket, flags: c_int) -> Option<isize> {
    let mut byte = 0_u8;
    let part = iovec { iov_base: from_mut(&mut byte).cast(), iov_len: 1 };
    let seen = receive(socket, &[part], flags & libc::MSG_DONTWAIT | libc::MSG_PEEK)?;
    Some(seen.min(0))
}

/// Tells of the end of the stream, or of an error that the kernel told of before it.
fn end(socket: Socket) -> isize {
    match take::pending(socket) {
        Step::Failed(errno) => last(socket, errno),
        _ => 0,
    }
}

/// Tells of an error at the end of the stream. A reset that a bell on its way to a closed socket caused is no reset.
fn last(socket: Socket, errno: c_int) -> isize {
    let ended = socket.receiving().and_then(|mut receiving| {
        let (_, side) = receiving.parts()?;
        Some(side.control.get(Field::Ended))
    });
    if errno == libc::ECONNRESET {
        // The kernel refuses what is written now, and a ring would not.
        evict::leave_outwards(socket, Why::Cut);
    }
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
    match flags & libc::MSG_PEEK {
        0 => take::take(socket, receiver, side, parts, skip),
        _ => look::look(socket, receiver, side, parts),
    }
}
