//! Connections that the daemon makes.

use super::ask::{ask, is_meant, is_tcp, take_place, time};
use crate::carried::entry::{self, Entry, Kind};
use crate::carried::names;
use crate::quiet::Quiet;
use crate::visit::wait;
use crate::{errno, kernel, real};
use bertha_sockets_machine::device::{CONNECT, Place};
use libc::{c_int, sockaddr, socklen_t};
use std::ptr::from_mut;

/// The state of a connection that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Settled {
    NotYet,
    Connected,
    /// The connection failed, with this error, which is told once.
    Failed(c_int),
}

/// Connects, if the stack carries the connection.
pub(crate) fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> Option<c_int> {
    if !entry::is_on() {
        return None;
    }
    if let Some(done) = super::datagrams::connect(fd, address, len) {
        return Some(done);
    }
    let fail = |error| Some(errno::fail(error) as c_int);
    let known = entry::of(fd).map(|entry| (entry, entry.kind()));
    let again = match known {
        Some((entry, Kind::Connecting)) => return Some(go_on(fd, entry)),
        Some((entry, Kind::Connected)) if entry.tell() => return Some(0),
        Some((_, Kind::Connected | Kind::Listening)) => return fail(libc::EISCONN),
        Some((entry, _)) => Some(entry),
        None => None,
    };
    // SAFETY: the arguments are the program's.
    let (peer, is_ipv6) = unsafe { names::decode(address, len) }?;
    let peer = names::or_this_machine(peer);
    let is_carried = again.is_some() || is_tcp(fd);
    if !is_carried || !is_meant(fd, peer) {
        // A TCP socket is gone for ever once a carrier has had its place.
        return again.and_then(|_| fail(libc::ECONNREFUSED));
    }
    if kernel::option(fd, libc::SOL_SOCKET, libc::SO_ACCEPTCONN) == Some(1) {
        return fail(libc::EISCONN);
    }
    let local = again.map(Entry::local).or_else(|| names::local(fd).map(|(local, _)| local));
    let quiet = Quiet::begin();
    let carrier = match ask(CONNECT, peer, fd) {
        Ok(carrier) => carrier,
        Err(error) => return fail(error),
    };
    let local = local.unwrap_or(Place { ip: [0; 16], port: 0 });
    if !take_place(fd, carrier, Kind::Connecting, is_ipv6, local, peer) {
        return fail(libc::ECONNREFUSED);
    }
    drop(quiet);
    if kernel::is_nonblocking(fd) {
        return fail(libc::EINPROGRESS);
    }
    entry::of(fd).map(|entry| go_on(fd, entry))
}

/// Waits for the connection as the socket says. Returns what `connect` does.
fn go_on(fd: c_int, entry: &Entry) -> c_int {
    let fail = |error| errno::fail(error) as c_int;
    let limit = time(fd, libc::SO_SNDTIMEO).map_or(0, |time| time.tv_sec * 1000 + time.tv_usec / 1000);
    loop {
        match settle(fd, entry) {
            Settled::Connected => {
                entry.tell();
                return 0;
            }
            Settled::Failed(error) => return fail(if error == 0 { libc::ECONNREFUSED } else { error }),
            Settled::NotYet if kernel::is_nonblocking(fd) => return fail(libc::EALREADY),
            Settled::NotYet => {}
        }
        let patience = if limit == 0 { -1 } else { c_int::try_from(limit).unwrap_or(c_int::MAX) };
        match wait(fd, libc::POLLOUT, patience) {
            0 => return fail(libc::EINPROGRESS),
            1.. => {}
            _ => return -1,
        }
    }
}

/// Looks how far a connection is.
pub(super) fn settle(fd: c_int, entry: &Entry) -> Settled {
    match entry.kind() {
        Kind::Connecting => {}
        Kind::Failed => return Settled::Failed(0),
        _ => return Settled::Connected,
    }
    let kept = errno::last();
    let settled = look(fd, entry);
    errno::set(kept);
    settled
}

fn look(fd: c_int, entry: &Entry) -> Settled {
    if kernel::events(fd, libc::POLLOUT) == 0 {
        return Settled::NotYet;
    }
    // A copy of the descriptor may have taken the error, but the daemon's end has a name only if there is a connection.
    if kernel::option(fd, libc::SOL_SOCKET, libc::SO_ERROR) == Some(0)
        && let Some([local, _]) = names::of_carrier(fd)
    {
        entry.set_local(local);
        entry.set_kind(Kind::Connected);
        return Settled::Connected;
    }
    let mut number = 0_u8;
    // SAFETY: the buffer has one byte.
    let read = unsafe { real::recv(fd, from_mut(&mut number).cast(), 1, libc::MSG_DONTWAIT) };
    entry.set_kind(Kind::Failed);
    Settled::Failed(if read == 1 { c_int::from(number) } else { libc::ECONNREFUSED })
}
