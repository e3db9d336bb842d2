//! The addresses of carried sockets, as TCP would tell them.

use crate::parts::is_there;
use crate::{errno, real};
use bertha_sockets_machine::device::{Place, places_of};
use libc::{c_int, sockaddr, socklen_t};
use std::ptr::{copy_nonoverlapping, from_mut};

/// The bytes of the longest address.
const LONGEST: usize = 128;

/// Reads an address of IPv4 or IPv6, and returns true if it is of IPv6.
///
/// # Safety
/// `address` has so many bytes.
pub(crate) unsafe fn decode(address: *const sockaddr, len: socklen_t) -> Option<(Place, bool)> {
    if !is_there(address.cast::<u8>(), len as usize) || len < 16 {
        return None;
    }
    let mut bytes = [0; LONGEST];
    let count = (len as usize).min(LONGEST);
    // SAFETY: both have so many bytes.
    unsafe { copy_nonoverlapping(address.cast::<u8>(), bytes.as_mut_ptr(), count) };
    let family = i32::from(u16::from_ne_bytes([bytes[0], bytes[1]]));
    let port = u16::from_be_bytes([bytes[2], bytes[3]]);
    match family {
        libc::AF_INET => {
            let mut ip = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0];
            ip[12..].copy_from_slice(&bytes[4..8]);
            Some((Place { ip, port }, false))
        }
        libc::AF_INET6 if len >= 28 => Some((Place { ip: bytes[8..24].try_into().ok()?, port }, true)),
        _ => None,
    }
}

/// Returns why an address names no place, as the kernel says it; `None` for the family of none, which stands for no address.
///
/// # Safety
/// `address` has so many bytes.
pub(crate) unsafe fn error_of(address: *const sockaddr, len: socklen_t) -> Option<c_int> {
    if len as usize > LONGEST || (len as usize) < size_of::<u16>() {
        return Some(libc::EINVAL);
    }
    if !is_there(address.cast::<u8>(), len as usize) {
        return Some(libc::EFAULT);
    }
    // SAFETY: the caller says so.
    match i32::from(unsafe { address.cast::<u16>().read_unaligned() }) {
        libc::AF_UNSPEC => None,
        libc::AF_INET | libc::AF_INET6 => Some(libc::EINVAL),
        _ => Some(libc::EAFNOSUPPORT),
    }
}

/// Writes an address where a program wants it, cut as the kernel does. Returns 0.
///
/// # Safety
/// `address` has as many bytes as `len` says, unless one is null.
pub(crate) unsafe fn give(place: Place, is_ipv6: bool, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    if address.is_null() || len.is_null() {
        return 0;
    }
    if !is_there(address.cast::<u8>(), 1) || !is_there(len, 1) {
        return errno::fail(libc::EFAULT) as c_int;
    }
    let mut bytes = [0; 28];
    bytes[2..4].copy_from_slice(&place.port.to_be_bytes());
    let (family, whole) = if is_ipv6 {
        bytes[8..24].copy_from_slice(&place.ip);
        (libc::AF_INET6, 28)
    } else {
        bytes[4..8].copy_from_slice(&place.ip[12..]);
        (libc::AF_INET, 16)
    };
    bytes[..2].copy_from_slice(&(family as u16).to_ne_bytes());
    // SAFETY: the caller says so.
    let room = unsafe { len.read_unaligned() } as usize;
    // SAFETY: the caller says so, and the address is not longer than `bytes`.
    unsafe { copy_nonoverlapping(bytes.as_ptr(), address.cast(), room.min(whole)) };
    // SAFETY: the caller says so.
    unsafe { len.write_unaligned(whole as u32) };
    0
}

/// A program that connects to the address of no machine means its own.
pub(crate) fn or_this_machine(mut peer: Place) -> Place {
    match peer.ip {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0] => {
            peer.ip[12..].copy_from_slice(&[127, 0, 0, 1])
        }
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] => peer.ip[15] = 1,
        _ => {}
    }
    peer
}

/// Returns the local address of a TCP socket.
pub(crate) fn local(fd: c_int) -> Option<(Place, bool)> {
    let mut bytes = [0_u64; LONGEST / 8];
    let mut len = LONGEST as u32;
    let address: *mut sockaddr = from_mut(&mut bytes).cast();
    // SAFETY: the buffer has this length.
    let done = unsafe { real::getsockname(fd, address, &raw mut len) };
    // SAFETY: the kernel has written so many bytes.
    if done == 0 { unsafe { decode(address, len.min(LONGEST as u32)) } } else { None }
}

/// Binds a TCP socket to an address without a port, and returns it with the port that the kernel has chosen.
pub(crate) fn bind(fd: c_int, place: Place, is_ipv6: bool) -> Option<Place> {
    let mut bytes = [0_u64; LONGEST / 8];
    let mut len = LONGEST as u32;
    let address: *mut sockaddr = from_mut(&mut bytes).cast();
    // SAFETY: the buffer has this length.
    unsafe { give(place, is_ipv6, address, &raw mut len) };
    // SAFETY: the address was just written, with this length.
    unsafe { real::bind(fd, address, len) };
    local(fd).map(|(place, _)| place).filter(|place| place.port != 0)
}

/// Returns the local and the other address of a carrier, which the daemon's end has as its name.
pub(crate) fn of_carrier(fd: c_int) -> Option<[Place; 2]> {
    let mut bytes = [0_u64; LONGEST / 8];
    let mut len = LONGEST as u32;
    // SAFETY: the buffer has this length.
    let done = unsafe { real::getpeername(fd, from_mut(&mut bytes).cast(), &raw mut len) };
    if done != 0 {
        return None;
    }
    let mut plain = [0; LONGEST];
    plain.chunks_exact_mut(8).zip(bytes).for_each(|(to, from)| to.copy_from_slice(&from.to_ne_bytes()));
    let is_unix = i32::from(u16::from_ne_bytes([plain[0], plain[1]])) == libc::AF_UNIX;
    if is_unix { places_of(plain.get(2..len as usize)?) } else { None }
}
