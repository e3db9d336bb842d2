//! Sockets in sets of epoll that a ring can't serve, which go back to the kernel.

use crate::process::{self, Socket};
use crate::{evict, watch};
use libc::{c_int, epoll_event};

/// Registers a tracked socket, as `epoll_ctl` does.
pub(crate) fn control(set: c_int, operation: c_int, socket: Socket, event: *mut epoll_event) -> c_int {
    let (done, goes_back) = watch::control(set, operation, socket, event);
    if goes_back {
        evict::leave_to_watch(socket);
    }
    done
}

/// Notes that a set is waited for from outside, which the kernel alone can do.
pub(crate) fn nested(set: c_int) {
    if !watch::set_nested(set) {
        return;
    }
    let mut from = 0;
    while let Some(socket) = watch::socket_of(set, from) {
        evict::leave_to_watch(socket);
        from = socket.number + 1;
    }
}

/// Has a socket go back whose registered descriptor is closed while it has others: its events come still.
pub(crate) fn descriptor_closed(number: u32, fd: c_int) {
    if watch::is_registered(number, fd)
        && let Some(socket) = process::sockets().find(|socket| socket.number == number)
    {
        evict::leave_to_watch(socket);
    }
}
