//! Datagrams, with their heads, on the carrier of a socket.

use crate::carried::entry::Entry;
use crate::carried::names;
use crate::controls::controls;
use crate::parts::{NOTHING, PARTS, length};
use crate::visit::part;
use crate::{errno, kernel, real};
use bertha_sockets_machine::datagrams::{HEAD, Head, LONGEST, NOWHERE};
use bertha_sockets_machine::device::Place;
use libc::{c_int, iovec, msghdr, sockaddr, socklen_t};
use std::net::Ipv6Addr;
use std::ptr::null_mut;

/// The most parts of a call.
const MOST: usize = 1024;

/// The kind of control data by which a program has the kernel cut its bytes into datagrams.
const UDP_SEGMENT: c_int = 103;

/// The place where a program wants the address of a sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender {
    pub(crate) address: *mut sockaddr,
    pub(crate) len: *mut socklen_t,
}

impl Sender {
    /// A program that does not want it.
    pub(crate) const UNWANTED: Self = Self { address: null_mut(), len: null_mut() };
}

/// Calls with a head before the parts.
fn with_head<R>(head: iovec, parts: &[iovec], call: impl FnOnce(msghdr) -> R) -> R {
    #[cold]
    fn many<R>(head: iovec, parts: &[iovec], call: impl FnOnce(msghdr) -> R) -> R {
        within::<{ MOST + 1 }, R>(head, parts, call)
    }
    if parts.len() > PARTS { many(head, parts, call) } else { within::<{ PARTS + 1 }, R>(head, parts, call) }
}

/// Calls with a head before the parts, in room for so many.
fn within<const ROOM: usize, R>(head: iovec, parts: &[iovec], call: impl FnOnce(msghdr) -> R) -> R {
    let mut all = [NOTHING; ROOM];
    all[0] = head;
    all[1..].iter_mut().zip(parts).for_each(|(to, part)| *to = *part);
    call(kernel::header(&all[..ROOM.min(parts.len() + 1)]))
}

/// Sends a datagram to an address, or to the peer of the socket. Returns what `sendmsg` does.
pub(crate) fn send(
    fd: c_int,
    entry: &Entry,
    parts: &[iovec],
    flags: c_int,
    (address, len): (*const sockaddr, socklen_t),
) -> isize {
    let to = if address.is_null() {
        NOWHERE
    } else {
        // SAFETY: the arguments are the program's.
        match unsafe { names::decode(address, len) } {
            Some((to, _)) if to.port != 0 => names::or_this_machine(to),
            Some(_) => return errno::fail(libc::EINVAL),
            // SAFETY: as above.
            None => match unsafe { names::error_of(address, len) } {
                None => NOWHERE,
                Some(error) => return errno::fail(error),
            },
        }
    };
    if to == NOWHERE && entry.peer() == NOWHERE {
        return errno::fail(libc::EDESTADDRREQ);
    }
    // Nor are datagrams put together by several calls.
    if flags & (libc::MSG_OOB | libc::MSG_MORE) != 0 {
        return errno::fail(libc::EOPNOTSUPP);
    }
    if reaches_many(to) {
        return errno::fail(libc::ENETUNREACH);
    }
    if length(parts) > LONGEST {
        return errno::fail(libc::EMSGSIZE);
    }
    let flags = flags & libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    let head = Head::Datagram(to).encode();
    let sent = with_head(part(&head), parts, |header| {
        // SAFETY: the header has memory of this function and of the program.
        unsafe { real::sendmsg(fd, &raw const header, flags) }
    });
    match sent {
        0.. => sent - HEAD as isize,
        // Of datagrams no program knows the end of a carrier.
        _ if errno::last() == libc::EPIPE => errno::fail(libc::ECONNRESET),
        _ => -1,
    }
}

/// Returns true for an address of several machines, to which no device sends.
fn reaches_many(place: Place) -> bool {
    let ip = Ipv6Addr::from(place.ip);
    match ip.to_ipv4_mapped() {
        Some(ip) => ip.is_multicast() || ip.is_broadcast(),
        None => ip.is_multicast(),
    }
}

/// Receives a datagram, and writes the flags of the message where they are wanted. Returns what `recvmsg` does.
pub(crate) fn receive(
    fd: c_int,
    parts: &[iovec],
    flags: c_int,
    (sender, entry): (Sender, &Entry),
    told: Option<&mut c_int>,
) -> isize {
    if flags & libc::MSG_ERRQUEUE != 0 {
        return errno::fail(libc::EAGAIN);
    }
    let asked = flags & (libc::MSG_DONTWAIT | libc::MSG_PEEK | libc::MSG_TRUNC);
    let mut head = [0; HEAD];
    let mut said = 0;
    let into = iovec { iov_base: head.as_mut_ptr().cast(), iov_len: HEAD };
    let read = with_head(into, parts, |mut header| {
        // SAFETY: the header has memory of this function and of the program.
        let read = unsafe { real::recvmsg(fd, &raw mut header, asked) };
        said = header.msg_flags;
        read
    });
    if read < 0 {
        return -1;
    }
    match Head::decode(&head) {
        Some(Head::Datagram(from)) if read >= HEAD as isize => {
            // SAFETY: the program gives so much room.
            unsafe { names::give(from, entry.is_ipv6(), sender.address, sender.len) };
            if let Some(told) = told {
                *told = said & libc::MSG_TRUNC;
            }
            read - HEAD as isize
        }
        Some(Head::Failed(error)) => {
            if flags & libc::MSG_PEEK != 0 {
                // It is told once.
                // SAFETY: nothing is written.
                unsafe { real::recv(fd, null_mut(), 0, libc::MSG_DONTWAIT) };
            }
            errno::fail(c_int::from(error))
        }
        // The program has ended this direction.
        _ if kernel::events(fd, 0) & libc::POLLHUP == 0 => 0,
        _ => {
            super::accept::pause();
            errno::fail(libc::ECONNRESET)
        }
    }
}

/// Returns the bytes of the next datagram.
pub(crate) fn unread(fd: c_int) -> c_int {
    let mut head = [0; HEAD];
    let flags = libc::MSG_PEEK | libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    let kept = errno::last();
    // SAFETY: the buffer has this room.
    let read = unsafe { real::recv(fd, head.as_mut_ptr().cast(), HEAD, flags) };
    errno::set(kept);
    match Head::decode(&head) {
        Some(Head::Datagram(_)) => c_int::try_from(read - HEAD as isize).unwrap_or(0).max(0),
        _ => 0,
    }
}

/// Returns true if a message asks the kernel to cut it into datagrams, which it would not do for a carrier.
pub(crate) fn is_cut(header: &msghdr) -> bool {
    controls(header).any(|found| (found.cmsg_level, found.cmsg_type) == (libc::IPPROTO_UDP, UDP_SEGMENT))
}
