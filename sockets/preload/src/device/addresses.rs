//! The calls that ask for addresses.

use super::connect::settle;
use crate::carried::entry::{self, Kind};
use crate::carried::names::give;
use crate::{errno, kernel, real};
use bertha_sockets_machine::datagrams::NOWHERE;
use libc::{c_int, sockaddr, socklen_t};

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getsockname(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    match entry::of(fd) {
        Some(entry) => {
            settle(fd, entry);
            if address.is_null() || len.is_null() {
                return errno::fail(libc::EFAULT) as c_int;
            }
            // SAFETY: the arguments are the program's.
            unsafe { give(entry.local(), entry.is_ipv6(), address, len) }
        }
        // SAFETY: the arguments are the program's.
        None => unsafe { real::getsockname(fd, address, len) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn getpeername(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let Some(entry) = entry::of(fd) else {
        // SAFETY: the arguments are the program's.
        return unsafe { real::getpeername(fd, address, len) };
    };
    settle(fd, entry);
    let is_datagrams = entry.kind() == Kind::Datagrams && entry.peer() != NOWHERE;
    // Once both directions are over, TCP has no peer.
    let is_over = || entry.kind() != Kind::Connected || kernel::events(fd, 0) & libc::POLLHUP != 0;
    if !is_datagrams && is_over() {
        return errno::fail(libc::ENOTCONN) as c_int;
    }
    if address.is_null() || len.is_null() {
        return errno::fail(libc::EFAULT) as c_int;
    }
    // SAFETY: the arguments are the program's.
    unsafe { give(entry.peer(), entry.is_ipv6(), address, len) }
}
