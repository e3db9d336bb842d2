//! The options of carried sockets that are not those of a Unix socket.

use super::connect::{Settled, settle};
use crate::carried::entry::{self, Kind};
use crate::errno;
use libc::{c_int, c_void, socklen_t};
use std::ptr::copy_nonoverlapping;
use std::sync::atomic::Ordering;

/// Sets an option, or leaves it to the kernel.
pub(crate) fn set(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> Option<c_int> {
    let entry = entry::of(fd)?;
    if entry.kind() == Kind::Datagrams {
        return set_of_datagrams(level, name);
    }
    match level {
        libc::IPPROTO_TCP if name == libc::TCP_ULP => Some(errno::fail(libc::ENOENT) as c_int),
        libc::IPPROTO_TCP => {
            if name == libc::TCP_NODELAY && len as usize >= size_of::<c_int>() && !value.is_null() {
                // SAFETY: the program gives a number.
                let is_set = unsafe { value.cast::<c_int>().read_unaligned() } != 0;
                entry.nodelay.store(is_set, Ordering::Relaxed);
            }
            Some(0)
        }
        // The connection is the stack's, and these would change packets of which there are none.
        libc::IPPROTO_IP | libc::IPPROTO_IPV6 => Some(0),
        _ => None,
    }
}

/// Sets an option of a socket of datagrams. What would change their contents, or tell more of them, is not there.
fn set_of_datagrams(level: c_int, name: c_int) -> Option<c_int> {
    let is_taken = match level {
        libc::IPPROTO_IP => matches!(
            name,
            libc::IP_TOS | libc::IP_TTL | libc::IP_MTU_DISCOVER | libc::IP_RECVERR | libc::IP_FREEBIND
        ),
        libc::IPPROTO_IPV6 => matches!(
            name,
            libc::IPV6_TCLASS
                | libc::IPV6_UNICAST_HOPS
                | libc::IPV6_MTU_DISCOVER
                | libc::IPV6_RECVERR
                | libc::IPV6_V6ONLY
        ),
        libc::IPPROTO_UDP => false,
        _ => return None,
    };
    Some(if is_taken { 0 } else { errno::fail(libc::ENOPROTOOPT) as c_int })
}

/// Reads an option, or leaves it to the kernel.
pub(crate) fn read(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> Option<c_int> {
    let entry = entry::of(fd)?;
    let is_listening = entry.kind() == Kind::Listening;
    let is_datagrams = entry.kind() == Kind::Datagrams;
    let found = match (level, name) {
        (libc::SOL_SOCKET, libc::SO_ERROR) if entry.kind() == Kind::Connecting => match settle(fd, entry) {
            Settled::Failed(error) => error,
            _ => 0,
        },
        (libc::SOL_SOCKET, libc::SO_DOMAIN) if entry.is_ipv6() => libc::AF_INET6,
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => libc::AF_INET,
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) if is_datagrams => libc::IPPROTO_UDP,
        (libc::SOL_SOCKET, libc::SO_TYPE) if is_datagrams => libc::SOCK_DGRAM,
        (libc::IPPROTO_TCP, _) if is_datagrams => return Some(errno::fail(libc::EOPNOTSUPP) as c_int),
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) => libc::IPPROTO_TCP,
        (libc::SOL_SOCKET, libc::SO_TYPE) => libc::SOCK_STREAM,
        (libc::SOL_SOCKET, libc::SO_ACCEPTCONN) => c_int::from(is_listening),
        (libc::IPPROTO_TCP, libc::TCP_NODELAY) => c_int::from(entry.nodelay.load(Ordering::Relaxed)),
        // SAFETY: the arguments are the program's.
        (libc::IPPROTO_TCP, libc::TCP_INFO) => return Some(unsafe { info(entry.kind(), value, len) }),
        (libc::IPPROTO_TCP, libc::TCP_MAXSEG) => 1460,
        (libc::IPPROTO_TCP | libc::IPPROTO_UDP | libc::IPPROTO_IP | libc::IPPROTO_IPV6, _) => 0,
        _ => return None,
    };
    if value.is_null() || len.is_null() {
        return Some(errno::fail(libc::EFAULT) as c_int);
    }
    // SAFETY: the program gives a length.
    let room = unsafe { *len } as usize;
    if room < size_of::<c_int>() {
        return Some(errno::fail(libc::EINVAL) as c_int);
    }
    // SAFETY: the program gives so much room.
    unsafe { value.cast::<c_int>().write_unaligned(found) };
    // SAFETY: as above.
    unsafe { *len = size_of::<c_int>() as u32 };
    Some(0)
}

/// Tells the state of a connection, and zeros for all that counts segments, of which there are none.
///
/// # Safety
/// `value` has as many bytes as `len` says, unless one is null.
unsafe fn info(kind: Kind, value: *mut c_void, len: *mut socklen_t) -> c_int {
    /// The bytes that every kernel knows.
    const KNOWN: usize = 104;
    if value.is_null() || len.is_null() {
        return errno::fail(libc::EFAULT) as c_int;
    }
    let mut bytes = [0_u8; KNOWN];
    bytes[0] = match kind {
        // The numbers of the kernel: established, asking, listening, closed.
        Kind::Connected => 1,
        Kind::Connecting => 2,
        Kind::Listening => 10,
        Kind::Failed | Kind::None | Kind::Datagrams => 7,
    };
    // SAFETY: the caller says so.
    let room = (unsafe { *len } as usize).min(KNOWN);
    // SAFETY: the caller says so.
    unsafe { copy_nonoverlapping(bytes.as_ptr(), value.cast(), room) };
    // SAFETY: the caller says so.
    unsafe { *len = room as u32 };
    0
}
