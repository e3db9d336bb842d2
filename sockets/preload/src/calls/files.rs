//! Calls that move bytes between sockets, files and pipes.

use super::data::{is_settled_in_ring, one, through};
use crate::process::Socket;
use crate::receive::{receive, receive_and_drop};
use crate::transmit::transmit;
use crate::{errno, evict, real};
use bertha_sockets_machine::Why;
use libc::{c_int, c_uint, c_void, off_t, size_t, ssize_t};
use std::sync::atomic::Ordering;

/// The bytes of a file that are sent at once.
const CHUNK: usize = 16 << 10;

/// Sends a file into the ring.
fn send_file(socket: Socket, from: c_int, offset: *mut off_t, count: size_t) -> Option<isize> {
    // SAFETY: the offset is the program's, or null.
    let mut at = match unsafe { offset.as_ref() } {
        Some(offset) => *offset,
        // SAFETY: the call takes numbers.
        None => unsafe { libc::lseek(from, 0, libc::SEEK_CUR) },
    };
    let mut sent = 0;
    let mut bytes = [0_u8; CHUNK];
    let mut errno = 0;
    while sent < count {
        let most = CHUNK.min(count - sent);
        // SAFETY: the buffer has this room.
        let read = unsafe { libc::pread(from, bytes.as_mut_ptr().cast(), most, at) };
        if read <= 0 {
            // The kernel says why, of a file that cannot be read at a place.
            if read < 0 && sent == 0 {
                evict::leave_at_once(socket, Why::Spliced);
                return None;
            }
            break;
        }
        let Some(done) = transmit(socket, &one(bytes.as_ptr().cast(), read as usize), 0) else { break };
        if done < 0 {
            errno = errno::last();
            break;
        }
        at += done as off_t;
        sent += done as usize;
        // The kernel tries on after an end, and sends the signal.
        if done < read && !socket.place.is_shut.load(Ordering::Relaxed) {
            break;
        }
    }
    match offset.is_null() {
        // SAFETY: the call takes numbers.
        true => drop(unsafe { libc::lseek(from, at, libc::SEEK_SET) }),
        // SAFETY: the offset is the program's.
        false => unsafe { offset.write(at) },
    }
    Some(if sent == 0 && errno != 0 { errno::fail(errno) } else { sent as isize })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
    if let Some(source) = Socket::of(from) {
        evict::leave_at_once(source, Why::Spliced);
    }
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::sendfile(to, from, offset, count) };
    through(to, libc, |socket| send_file(socket, from, offset, count), |_| errno::fail(libc::EINVAL))
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn sendfile64(to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t {
    // SAFETY: offsets have 64 bits here.
    unsafe { sendfile(to, from, offset, count) }
}

/// Moves bytes out of the ring into a pipe: as many as the pipe takes leave the socket.
fn splice_out(socket: Socket, to: c_int, len: size_t, flags: c_int) -> Option<isize> {
    let mut bytes = [0_u8; CHUNK];
    let seen = receive(socket, &one(bytes.as_mut_ptr().cast(), len.min(CHUNK)), flags | libc::MSG_PEEK)?;
    let Some(seen) = usize::try_from(seen).ok().filter(|seen| *seen > 0) else { return Some(seen) };
    // SAFETY: the buffer has so many bytes.
    let put = unsafe { real::write(to, bytes.as_ptr().cast::<c_void>(), seen) };
    if let Ok(put) = usize::try_from(put) {
        receive_and_drop(socket, put, libc::MSG_DONTWAIT);
    }
    Some(put)
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn splice(
    from: c_int,
    from_at: *mut off_t,
    to: c_int,
    to_at: *mut off_t,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    if let Some(socket) = Socket::of(to) {
        evict::leave_outwards(socket, Why::Spliced);
    }
    // SAFETY: the arguments are the program's.
    let libc = || unsafe { real::splice(from, from_at, to, to_at, len, flags) };
    if len == 0 || !from_at.is_null() || !is_settled_in_ring(from) {
        return libc();
    }
    let is_brief = flags & libc::SPLICE_F_NONBLOCK != 0;
    let flags = if is_brief { libc::MSG_DONTWAIT } else { 0 };
    through(from, libc, |socket| splice_out(socket, to, len, flags), |_| errno::fail(libc::EINVAL))
}
