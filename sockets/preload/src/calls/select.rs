//! `select` and `pselect`.

use crate::place::State;
use crate::process::Socket;
use crate::time::Deadline;
use crate::{copies, errno, ready, real, registration, spin, transmit};
use libc::{c_int, fd_set, sigset_t, timespec, timeval};

/// Descriptors in a set of the usual size. A program with larger sets gets from the kernel what the kernel knows.
const SIZE: c_int = libc::FD_SETSIZE as c_int;

/// Returns the sockets of a set whose rings have to be looked at.
fn with_memory(count: c_int, set: &fd_set) -> impl Iterator<Item = Socket> + '_ {
    (0..count.min(SIZE)).filter_map(move |fd| {
        let socket = Socket::of(fd).filter(|socket| socket.place.state() == State::Paired)?;
        // SAFETY: the number lies within a set.
        unsafe { libc::FD_ISSET(fd, set) }.then_some(socket)
    })
}

/// The three sets of a call, null where there is none.
type Sets = [*mut fd_set; 3];

fn wait(
    count: c_int,
    sets: Sets,
    deadline: Deadline,
    park: impl Fn(Sets, Option<Deadline>) -> c_int,
) -> c_int {
    // SAFETY: the set is the program's, or null.
    let Some(asked) = (unsafe { sets[0].as_ref() }).copied().filter(|_| count <= SIZE) else {
        return park(sets, Some(deadline));
    };
    // The kernel overwrites the sets, and may have to be asked again.
    // SAFETY: as above.
    let copies = sets.map(|set| unsafe { set.as_ref() }.copied());
    for fd in 0..count.min(SIZE) {
        // SAFETY: the number lies within a set.
        if unsafe { libc::FD_ISSET(fd, &asked) } && Socket::of(fd).is_none() {
            registration::nested(copies::set_of(fd));
        }
    }
    loop {
        let (mut is_ready, mut has_memory) = (false, false);
        for socket in with_memory(count, &asked) {
            has_memory = true;
            transmit::answer(socket);
            is_ready |= ready::is_ready(socket);
        }
        if has_memory && !is_ready && !deadline.is_now() {
            is_ready = spin::for_several(|| with_memory(count, &asked).any(ready::is_ready));
        }
        if has_memory && !is_ready && !deadline.is_now() {
            for socket in with_memory(count, &asked) {
                is_ready |= !ready::fall_asleep(socket);
            }
        }
        let found = park(sets, if is_ready { None } else { Some(deadline) });
        if found < 0 {
            return found;
        }
        // SAFETY: the set is the program's, and not null.
        let Some(read) = (unsafe { sets[0].as_mut() }) else { return found };
        let mut all = found;
        // A socket may have got its memory meanwhile.
        for socket in with_memory(count, &asked) {
            // SAFETY: the number lies within a set.
            let was_in = unsafe { libc::FD_ISSET(socket.fd, read) };
            let is_in = if was_in { ready::is_readable(socket) } else { ready::is_ready(socket) };
            match (was_in, is_in) {
                (true, false) => {
                    // SAFETY: as above.
                    unsafe { libc::FD_CLR(socket.fd, read) };
                    all -= 1;
                }
                (false, true) => {
                    // SAFETY: as above.
                    unsafe { libc::FD_SET(socket.fd, read) };
                    all += 1;
                }
                _ => {}
            }
        }
        if all > 0 || found == 0 && !is_ready || deadline.is_over() {
            return all;
        }
        for (set, copy) in sets.iter().zip(&copies) {
            if let Some(copy) = copy {
                // SAFETY: the set is the program's, and not null, as it was copied.
                unsafe { set.write(*copy) };
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *mut timeval,
) -> c_int {
    // SAFETY: the time is the program's, or null.
    let time = unsafe { timeout.as_mut() };
    let is_wrong = time.as_ref().is_some_and(|time| time.tv_sec < 0 || time.tv_usec < 0);
    if is_wrong {
        return errno::fail(libc::EINVAL) as c_int;
    }
    let time = time.map(|time| timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec * 1000 });
    let deadline = Deadline::after(time.as_ref());
    let done = wait(count, [read, write, except], deadline, |[read, write, except], deadline| {
        let time = deadline.map_or(Some(Deadline::NOW), |deadline| deadline.time());
        let mut time = time.map(|time| timeval { tv_sec: time.tv_sec, tv_usec: (time.tv_nsec + 999) / 1000 });
        let time = time.as_mut().map_or(std::ptr::null_mut(), std::ptr::from_mut);
        // SAFETY: the sets are the program's, and the time lives until the call returns.
        unsafe { real::select(count, read, write, except, time) }
    });
    // Linux tells what was left.
    // SAFETY: the time is the program's, or null.
    if let (Some(time), Some(left)) = (unsafe { timeout.as_mut() }, deadline.time()) {
        *time = timeval { tv_sec: left.tv_sec, tv_usec: left.tv_nsec / 1000 };
    }
    done
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    timeout: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: the time is the program's, or null.
    let deadline = Deadline::after(unsafe { timeout.as_ref() });
    wait(count, [read, write, except], deadline, |[read, write, except], deadline| {
        // A signal that waits already does not interrupt a call for which bytes are there.
        let mask = deadline.map_or(std::ptr::null(), |_| mask);
        let time = deadline.map_or(Some(Deadline::NOW), |deadline| deadline.time());
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the sets are the program's, and the time lives until the call returns.
        unsafe { real::pselect(count, read, write, except, time, mask) }
    })
}
