//! Listeners, and the connections that arrive at them.

use super::ask::{ask, is_meant, is_tcp, take_place};
use crate::carried::entry::{self, Kind};
use crate::carried::names;
use crate::quiet::Quiet;
use crate::visit::{Own, hear};
use crate::{errno, life, real};
use bertha_sockets_machine::device::{ARRIVED, LISTEN, PLACE, Place};
use libc::{c_int, sockaddr, socklen_t};

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn listen(fd: c_int, backlog: c_int) -> c_int {
    match begin(fd) {
        Some(done) => done,
        // SAFETY: the arguments are the program's.
        None => unsafe { real::listen(fd, backlog) },
    }
}

/// Listens, if the stack carries the connections.
fn begin(fd: c_int) -> Option<c_int> {
    if !entry::is_on() {
        return None;
    }
    match entry::of(fd).map(entry::Entry::kind) {
        Some(Kind::Listening) => return Some(0),
        Some(Kind::Datagrams) => return Some(errno::fail(libc::EOPNOTSUPP) as c_int),
        Some(_) => return Some(errno::fail(libc::EINVAL) as c_int),
        None => {}
    }
    let (local, is_ipv6) = names::local(fd)?;
    if !is_tcp(fd) {
        return None;
    }
    // The kernel chooses a port for a socket without an address when it listens, and no later than this.
    let local = match local.port {
        0 => names::bind(fd, local, is_ipv6),
        _ => Some(local),
    };
    let Some(local) = local else { return Some(errno::fail(libc::EADDRINUSE) as c_int) };
    if !is_meant(fd, local) {
        return None;
    }
    let nowhere = Place { ip: [0; 16], port: 0 };
    let _quiet = Quiet::begin();
    Some(match ask(LISTEN, local, fd) {
        Ok(queue) => match take_place(fd, queue, Kind::Listening, is_ipv6, local, nowhere) {
            true => 0,
            false => errno::fail(libc::EADDRNOTAVAIL) as c_int,
        },
        Err(error) => {
            let error = if error == libc::ECONNREFUSED { libc::EADDRNOTAVAIL } else { error };
            errno::fail(error) as c_int
        }
    })
}

/// Waits a little, as the daemon has gone. A program that tries for ever must not take all of the processor's time.
pub(super) fn pause() {
    let pause = libc::timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    // SAFETY: the time lives until the call returns.
    unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
}

/// Takes a connection from the queue of a listener.
pub(crate) fn accept(fd: c_int, address: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> Option<c_int> {
    let entry = entry::of(fd).filter(|entry| entry.kind() == Kind::Listening)?;
    // A connection whose descriptor finds no room here would be lost. The kernel, too, looks for room before a connection.
    // SAFETY: the command takes a number.
    let room = unsafe { real::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    if room < 0 {
        return Some(-1);
    }
    drop(Own(room));
    let mut bytes = [0; ARRIVED];
    let cloexec = if flags & libc::SOCK_CLOEXEC == 0 { 0 } else { libc::MSG_CMSG_CLOEXEC };
    let (read, file) = hear(fd, &mut bytes, cloexec);
    if read < 0 {
        return Some(-1);
    }
    if read == 0 {
        pause();
        return Some(errno::fail(libc::ECONNABORTED) as c_int);
    }
    let (Some(file), Some(local), Some(peer)) = (file, Place::decode(&bytes), Place::decode(&bytes[PLACE..]))
    else {
        // A message without its descriptor: another thread has taken the room.
        return Some(errno::fail(libc::EMFILE) as c_int);
    };
    let status = if flags & libc::SOCK_NONBLOCK == 0 { 0 } else { libc::O_NONBLOCK };
    // SAFETY: the command takes flags.
    unsafe { real::fcntl(file.0, libc::F_SETFL, status as usize) };
    life::forget(file.0);
    if !entry::enter(file.0, Kind::Connected, entry.is_ipv6(), local, peer) {
        return Some(errno::fail(libc::EMFILE) as c_int);
    }
    // SAFETY: the arguments are the program's.
    unsafe { names::give(peer, entry.is_ipv6(), address, len) };
    Some(file.keep())
}
