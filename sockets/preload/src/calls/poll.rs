//! `poll` and `ppoll`.

use crate::place::State;
use crate::process::Socket;
use crate::time::Deadline;
use crate::{copies, ready, real, registration, spin, transmit};
use libc::{c_int, nfds_t, pollfd, sigset_t, timespec};
use std::slice;

const IN: i16 = libc::POLLIN | libc::POLLRDNORM;

/// Returns the socket of an entry, if its ring has to be looked at.
fn with_memory(entry: &pollfd) -> Option<Socket> {
    let socket = Socket::of(entry.fd)?;
    (entry.events & IN != 0 && socket.place.state() == State::Paired).then_some(socket)
}

fn wait(
    fds: *mut pollfd,
    count: nfds_t,
    deadline: Deadline,
    park: impl Fn(*mut pollfd, nfds_t, Option<Deadline>) -> c_int,
) -> c_int {
    let Some(entries) = usize::try_from(count).ok().filter(|count| *count > 0 && !fds.is_null()) else {
        return park(fds, count, Some(deadline));
    };
    // SAFETY: the program gives so many entries.
    let entries = unsafe { slice::from_raw_parts_mut(fds, entries) };
    entries.iter().for_each(|entry| registration::nested(copies::set_of(entry.fd)));
    loop {
        let mut is_ready = false;
        let mut has_memory = false;
        for socket in entries.iter().filter_map(with_memory) {
            has_memory = true;
            transmit::answer(socket);
            is_ready |= ready::is_ready(socket);
        }
        if has_memory && !is_ready && !deadline.is_now() {
            is_ready = spin::for_several(|| entries.iter().filter_map(with_memory).any(ready::is_ready));
        }
        if has_memory && !is_ready && !deadline.is_now() {
            for socket in entries.iter().filter_map(with_memory) {
                is_ready |= !ready::fall_asleep(socket);
            }
        }
        let found = park(entries.as_mut_ptr(), count, if is_ready { None } else { Some(deadline) });
        if found < 0 {
            return found;
        }
        // A socket may have got its memory meanwhile.
        for entry in &mut *entries {
            let Some(socket) = with_memory(entry) else { continue };
            let is_in = match entry.revents & IN {
                0 => ready::is_ready(socket),
                _ => ready::is_readable(socket),
            };
            entry.revents = entry.revents & !IN | if is_in { entry.events & IN } else { 0 };
            if ready::has_error(socket) {
                entry.revents |= libc::POLLERR;
            }
        }
        let ready = entries.iter().filter(|entry| entry.revents != 0).count();
        if ready > 0 || found == 0 && !is_ready || deadline.is_over() {
            return ready as c_int;
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn poll(fds: *mut pollfd, count: nfds_t, timeout: c_int) -> c_int {
    wait(fds, count, Deadline::after_milliseconds(timeout), |fds, count, deadline| {
        let timeout = deadline.map_or(0, |deadline| deadline.milliseconds());
        // SAFETY: the arguments are the program's.
        unsafe { real::poll(fds, count, timeout) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __poll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
    _room: usize,
) -> c_int {
    // SAFETY: the arguments are the program's.
    unsafe { poll(fds, count, timeout) }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ppoll(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the time is the program's, or null.
    let deadline = Deadline::after(unsafe { timeout.as_ref() });
    wait(fds, count, deadline, |fds, count, deadline| {
        // A signal that waits already does not interrupt a call for which bytes are there.
        let mask = deadline.map_or(std::ptr::null(), |_| mask);
        let time = deadline.map_or(Some(Deadline::NOW), |deadline| deadline.time());
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the arguments are the program's, and the time lives until the call returns.
        unsafe { real::ppoll(fds, count, time, mask) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    _room: usize,
) -> c_int {
    // SAFETY: the arguments are the program's.
    unsafe { ppoll(fds, count, timeout, mask) }
}
