//! Calls that make, copy and close descriptors.

use crate::place::State;
use crate::process::{self, Socket};
use crate::{
    births, carried, copies, device, errno, evict, handover, join, kernel, life, real, registration,
};
use bertha_sockets_machine::Why;
use libc::{c_int, c_uint, c_ulong, c_void};
use std::sync::atomic::Ordering;

/// Forgets what was known of a descriptor that is closed now.
fn closing(fd: c_int) {
    life::forget(fd);
    births::shared(fd);
    copies::closed(fd);
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C-unwind" fn close(fd: c_int) -> c_int {
    if process::is_own(fd) {
        // A program that closes all descriptors does not know of this one.
        if !handover::is_kept(fd) {
            join::lose(fd);
        }
        return errno::fail(libc::EBADF) as c_int;
    }
    closing(fd);
    // SAFETY: the argument is the program's.
    unsafe { real::close(fd) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    const CLOEXEC: c_int = 4;
    if flags & CLOEXEC == 0 {
        let end = process::end().min(c_int::try_from(last).unwrap_or(c_int::MAX).saturating_add(1));
        for fd in c_int::try_from(first).unwrap_or(c_int::MAX)..end {
            if handover::is_kept(fd) {
                continue;
            }
            if process::is_own(fd) {
                join::lose(fd);
            }
            closing(fd);
        }
    }
    // SAFETY: the arguments are the program's.
    handover::around(first, last, |first, last| unsafe { real::close_range(first, last, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn closefrom(first: c_int) {
    // SAFETY: the arguments are numbers.
    unsafe { close_range(first.max(0).cast_unsigned(), c_uint::MAX, 0) };
}

/// Tracks a copy, if there is one.
fn copied(from: c_int, to: c_int) -> c_int {
    if to >= 0 && from != to {
        life::forget(to);
        births::shared(from);
        births::shared(to);
        match Socket::of(from) {
            Some(socket) => socket.duplicated(to),
            None if copies::made(from, to) => {}
            // Events of a set would come by a descriptor of which its sockets know nothing.
            None => registration::nested(from),
        }
        carried::entry::copied(from, to);
    }
    to
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup(fd: c_int) -> c_int {
    // SAFETY: the argument is the program's.
    copied(fd, unsafe { real::dup(fd) })
}

/// Forgets what was known of the descriptor that a copy takes the place of, if the copy can be made.
fn replaced(from: c_int, to: c_int) {
    // SAFETY: the command takes no argument.
    let exists = from != to && unsafe { real::fcntl(from, libc::F_GETFD, 0) } >= 0;
    if !exists {
        return;
    }
    if process::is_own(to) {
        join::lose(to);
    }
    closing(to);
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup2(fd: c_int, to: c_int) -> c_int {
    replaced(fd, to);
    // SAFETY: the arguments are the program's.
    copied(fd, unsafe { real::dup2(fd, to) })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn dup3(fd: c_int, to: c_int, flags: c_int) -> c_int {
    replaced(fd, to);
    // SAFETY: the arguments are the program's.
    copied(fd, unsafe { real::dup3(fd, to, flags) })
}

/// Commands that the crate libc has not: to choose the signal for input, and the thread that gets it.
const F_SETSIG: c_int = 10;
const F_SETOWN_EX: c_int = 15;

/// Requests for the same, as old programs make them.
const FIOSETOWN: c_ulong = 0x8901;
const SIOCSPGRP: c_ulong = 0x8902;

/// Serves all processors of 64 bits: an argument behind `...` comes as one that is named.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fcntl(fd: c_int, command: c_int, argument: usize) -> c_int {
    if command == libc::F_GETFD && is_hidden(fd) {
        return -1;
    }
    // SAFETY: the arguments are the program's.
    let done = unsafe { real::fcntl(fd, command, argument) };
    if done < 0 {
        return done;
    }
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => drop(copied(fd, done)),
        libc::F_SETFL => flags_set(fd, argument as c_int),
        libc::F_SETOWN | F_SETOWN_EX | F_SETSIG => {
            if let Some(socket) = Socket::of(fd) {
                evict::leave_inwards(socket, Why::Signals);
            }
        }
        _ => {}
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fcntl64(fd: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: the arguments are the program's.
    unsafe { fcntl(fd, command, argument) }
}

/// Returns true, with the error for a closed descriptor, for one of this library. A program that looks for its open descriptors would close it,
/// or wonder whose it is.
fn is_hidden(fd: c_int) -> bool {
    process::is_own(fd) && errno::fail(libc::EBADF) < 0
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fstat(fd: c_int, about: *mut c_void) -> c_int {
    if is_hidden(fd) {
        return -1;
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::fstat(fd, about) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn fstat64(fd: c_int, about: *mut c_void) -> c_int {
    if is_hidden(fd) {
        return -1;
    }
    // SAFETY: the arguments are the program's.
    unsafe { real::fstat64(fd, about) }
}

fn flags_set(fd: c_int, flags: c_int) {
    let Some(socket) = Socket::of(fd) else { return };
    socket.place.nonblocking.store(flags & libc::O_NONBLOCK != 0, Ordering::Relaxed);
    if flags & libc::O_ASYNC != 0 {
        evict::leave_inwards(socket, Why::Signals);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ioctl(fd: c_int, request: c_ulong, argument: usize) -> c_int {
    // SAFETY: the arguments are the program's.
    let done = unsafe { real::ioctl(fd, request, argument) };
    if done == 0 && request == libc::FIONREAD && device::datagrams(fd).is_some() {
        // SAFETY: the kernel has written the number.
        unsafe { (argument as *mut c_int).write(device::unread(fd)) };
    }
    let Some(socket) = Socket::of(fd).filter(|_| done == 0) else { return done };
    let number = argument as *mut c_int;
    match request {
        libc::FIONBIO => {
            // SAFETY: the kernel has read the number.
            let is_nonblocking = unsafe { number.read() } != 0;
            socket.place.nonblocking.store(is_nonblocking, Ordering::Relaxed);
        }
        libc::FIOASYNC | FIOSETOWN | SIOCSPGRP => evict::leave_inwards(socket, Why::Signals),
        libc::FIONREAD if socket.place.state() == State::Paired => {
            if let Some(bytes) = unread(socket) {
                // SAFETY: the kernel has written the number.
                unsafe { number.write(bytes) };
            }
        }
        _ => {}
    }
    done
}

/// Returns the number of bytes that a read gets at most.
fn unread(socket: Socket) -> Option<c_int> {
    let mut receiving = socket.place.receiving().ok()?;
    let (receiver, side) = receiving.parts()?;
    receiver.next(side).ok()?;
    let ahead = receiver.ahead(side, kernel::unread(socket.fd)?, 1 << 30).ok()?;
    c_int::try_from(ahead.total()).ok()
}
