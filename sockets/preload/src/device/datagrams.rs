//! Sockets of datagrams that a device carries, from the first call that names an address.

use super::ask::{ask, is_meant, take_place};
use crate::carried::entry::{self, Entry, Kind};
use crate::carried::names;
use crate::quiet::Quiet;
use crate::visit::{part, wait};
use crate::{errno, kernel, real, settings};
use bertha_sockets_machine::datagrams::{DATAGRAMS, Head, NOWHERE};
use bertha_sockets_machine::device::Place;
use libc::{c_int, sockaddr, socklen_t};

/// The ports of services of the machine beside that of names, which nobody means unless they are named: those of DHCP and of multicast names.
const OF_THE_MACHINE: [u16; 5] = [67, 68, 546, 547, 5353];

/// Returns the entry of a socket of datagrams that is carried.
#[inline]
pub(crate) fn datagrams(fd: c_int) -> Option<&'static Entry> {
    entry::of(fd).filter(|entry| entry.kind() == Kind::Datagrams)
}

/// Returns true if the device is to carry a socket of the kernel.
fn is_wanted(fd: c_int, place: Place) -> bool {
    let option = |name| kernel::option(fd, libc::SOL_SOCKET, name);
    settings::has_device()
        && entry::of(fd).is_none()
        && (settings::has_ports() || !OF_THE_MACHINE.contains(&place.port))
        && is_meant(fd, place)
        && option(libc::SO_PROTOCOL) == Some(libc::IPPROTO_UDP)
        && option(libc::SO_TYPE) == Some(libc::SOCK_DGRAM)
}

/// Has a socket carried from this address. Returns the number of an error if it can't be.
fn open(fd: c_int, local: Place, is_ipv6: bool) -> Result<&'static Entry, c_int> {
    let _quiet = Quiet::begin();
    let carrier = ask(DATAGRAMS, local, fd)?;
    let local = names::of_carrier(carrier.0).map_or(local, |[local, _]| local);
    match take_place(fd, carrier, Kind::Datagrams, is_ipv6, local, NOWHERE) {
        true => entry::of(fd).ok_or(libc::ENOBUFS),
        false => Err(libc::ENOBUFS),
    }
}

/// Has a socket carried that sends to a peer, from the port that the kernel has given it, or another if that is not free at the device.
fn open_toward(fd: c_int, is_ipv6: bool) -> Result<&'static Entry, c_int> {
    let local = names::local(fd).map_or(NOWHERE, |(local, _)| local);
    match open(fd, local, is_ipv6) {
        Err(libc::EADDRINUSE) => open(fd, Place { port: 0, ..local }, is_ipv6),
        done => done,
    }
}

/// Binds a socket, if the device carries it.
pub(crate) fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> Option<c_int> {
    if !entry::is_on() {
        return None;
    }
    if datagrams(fd).is_some() {
        return Some(errno::fail(libc::EINVAL) as c_int);
    }
    // SAFETY: the arguments are the program's.
    let (local, is_ipv6) = unsafe { names::decode(address, len) }?;
    if !is_wanted(fd, local) {
        return None;
    }
    Some(match open(fd, local, is_ipv6) {
        Ok(_) => 0,
        Err(error) => {
            let error = if error == libc::ECONNREFUSED { libc::EADDRNOTAVAIL } else { error };
            errno::fail(error) as c_int
        }
    })
}

/// Has a socket of datagrams one peer, or none again, if the device carries it.
pub(super) fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> Option<c_int> {
    // SAFETY: the arguments are the program's.
    let named = unsafe { names::decode(address, len) };
    let known = datagrams(fd);
    let Some((peer, is_ipv6)) = named else {
        // SAFETY: as above.
        return known.map(|entry| match unsafe { names::error_of(address, len) } {
            // The family of none.
            None => have_peer(fd, entry, NOWHERE),
            Some(error) => errno::fail(error) as c_int,
        });
    };
    let peer = names::or_this_machine(peer);
    let entry = match known {
        Some(entry) => Ok(entry),
        None if is_wanted(fd, peer) => open_toward(fd, is_ipv6),
        None => return None,
    };
    Some(match entry {
        Ok(entry) => have_peer(fd, entry, peer),
        Err(error) => errno::fail(error) as c_int,
    })
}

fn have_peer(fd: c_int, entry: &Entry, peer: Place) -> c_int {
    let head = Head::Peer(peer).encode();
    let parts = [part(&head)];
    let header = kernel::header(&parts);
    // SAFETY: the header has memory of this function.
    while unsafe { real::sendmsg(fd, &raw const header, libc::MSG_NOSIGNAL) } < 0 {
        if errno::last() != libc::EAGAIN || wait(fd, libc::POLLOUT, -1) < 0 {
            return -1;
        }
    }
    entry.set_peer(peer);
    0
}

/// Has a socket carried that is about to send to a peer, if the device is to carry it. Returns false if it can't be, with the number of the error.
pub(crate) fn begin(fd: c_int, address: *const sockaddr, len: socklen_t) -> bool {
    if !entry::is_on() || address.is_null() {
        return true;
    }
    // SAFETY: the arguments are the program's.
    match unsafe { names::decode(address, len) } {
        Some((peer, is_ipv6)) if is_wanted(fd, names::or_this_machine(peer)) => {
            match open_toward(fd, is_ipv6) {
                Ok(_) => true,
                Err(error) => {
                    errno::set(error);
                    false
                }
            }
        }
        _ => true,
    }
}

/// Ends the directions of a socket. Reads end, as with the kernel's, and nothing is told to a peer.
pub(crate) fn shut(fd: c_int, how: c_int) -> Option<c_int> {
    let entry = datagrams(fd)?;
    if entry.peer() == NOWHERE {
        return Some(errno::fail(libc::ENOTCONN) as c_int);
    }
    // SAFETY: the call takes numbers.
    Some(if how == libc::SHUT_WR { 0 } else { unsafe { real::shutdown(fd, libc::SHUT_RD) } })
}
