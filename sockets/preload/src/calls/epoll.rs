//! Calls for sets of epoll.

use crate::process::Socket;
use crate::time::Deadline;
use crate::{births, carried, copies, errno, real, registration, spin, watch};
use libc::{c_int, epoll_event, sigset_t, timespec};
use std::slice;

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_ctl(
    set: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    let set = copies::set_of(set);
    match Socket::of(fd) {
        Some(socket) => registration::control(set, operation, socket, event),
        None => {
            registration::nested(copies::set_of(fd));
            // SAFETY: the arguments are the program's.
            let done = unsafe { real::epoll_ctl(set, operation, fd, event) };
            if done == 0 {
                // Of what a ring has, this registration would hear nothing.
                births::shared(fd);
                carried::entry::registered(set, operation, fd, event);
            }
            done
        }
    }
}

/// Waits for events: of sockets with bytes in their rings, and of the kernel. `park` has the kernel wait, for so long.
fn wait(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    deadline: Deadline,
    park: impl Fn(*mut epoll_event, c_int, Option<Deadline>) -> c_int,
) -> c_int {
    let room = usize::try_from(most).unwrap_or(0);
    if events.is_null() || room == 0 {
        return park(events, most, Some(deadline));
    }
    if !watch::has_marked(set) {
        return known(set, events, park(events, most, Some(deadline)), 0);
    }
    loop {
        // SAFETY: the program gives room for so many events.
        let all = unsafe { slice::from_raw_parts_mut(events, room) };
        let mut found = watch::hot(set, all, true);
        if found == 0 && !deadline.is_now() && watch::has_hot(set) {
            spin::for_several(|| {
                found = watch::hot(set, all, false);
                found > 0
            });
        }
        if found == 0 && !deadline.is_now() {
            // The look behind the announcement sees what came before it.
            watch::raise(set);
            found = watch::hot(set, all, true);
        }
        if found > 0 {
            if found == room {
                return found as c_int;
            }
            let more = park(all[found..].as_mut_ptr(), (room - found) as c_int, None);
            return known(set, events, found as c_int + more.max(0), found);
        }
        if deadline.is_now() {
            // Nobody rings for hot sockets, which stay so.
            return known(set, events, park(events, most, Some(deadline)), 0);
        }
        watch::cool(set);
        let found = park(events, most, Some(deadline));
        let errno = errno::last();
        watch::unpark(set);
        errno::set(errno);
        if found <= 0 {
            return found;
        }
        let kept = known(set, events, found, 0);
        if kept > 0 || deadline.is_over() {
            return kept;
        }
    }
}

/// Translates the kernel's events behind `before` others.
fn known(set: c_int, events: *mut epoll_event, count: c_int, before: usize) -> c_int {
    let Some(all) = usize::try_from(count).ok().filter(|all| *all > before) else { return count };
    // SAFETY: the kernel has written so many events.
    let all = unsafe { slice::from_raw_parts_mut(events, all) };
    watch::translate(set, all, before) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_wait(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let set = copies::set_of(set);
    wait(set, events, most, Deadline::after_milliseconds(timeout), |events, most, deadline| {
        let timeout = deadline.map_or(0, |deadline| deadline.milliseconds());
        // SAFETY: the arguments are the program's.
        unsafe { real::epoll_wait(set, events, most, timeout) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: c_int,
    mask: *const sigset_t,
) -> c_int {
    let set = copies::set_of(set);
    wait(set, events, most, Deadline::after_milliseconds(timeout), |events, most, deadline| {
        let timeout = deadline.map_or(0, |deadline| deadline.milliseconds());
        // SAFETY: the arguments are the program's.
        unsafe { real::epoll_pwait(set, events, most, timeout, mask) }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn epoll_pwait2(
    set: c_int,
    events: *mut epoll_event,
    most: c_int,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the time is the program's, or null.
    let deadline = Deadline::after(unsafe { timeout.as_ref() });
    let set = copies::set_of(set);
    wait(set, events, most, deadline, |events, most, deadline| {
        let time = deadline.map_or(Some(Deadline::NOW), |deadline| deadline.time());
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the arguments are the program's, and the time lives until the call returns.
        unsafe { real::epoll_pwait2(set, events, most, time, mask) }
    })
}
