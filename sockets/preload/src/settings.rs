//! Settings of the environment, which `bertha run` makes.
//!
//! | variable | meaning |
//! |---|---|
//! | `BERTHA_SOCKETS` | the path of the daemon's socket; without it, everything stays with the kernel |
//! | `BERTHA_SOCKETS_PROGRAMS` | names of programs; others stay with the kernel |
//! | `BERTHA_SOCKETS_PROTOCOLS` | `tcp`, `udp`, or both; sockets of others stay with the kernel |
//! | `BERTHA_SOCKETS_PORTS` | ports, of either end; connections with others stay with the kernel |
//! | `BERTHA_SOCKETS_ADDRESSES` | addresses, of either end, as with ports; with `/` and a number, those that begin with so many bits |
//! | `BERTHA_SOCKETS_INTERFACES` | interfaces; connections of sockets that are not bound to one of them (`SO_BINDTODEVICE`) stay with the kernel |
//! | `BERTHA_SOCKETS_STACK` | the stack by which the daemon carries connections, with its settings |
//! | `BERTHA_SOCKETS_EAGER` | for tests: if it is there, a connection pays with its first message |
//! | `BERTHA_SOCKETS_MOVES` | for tests: a stream leaves the ring with every so many writes |
//!
//! Lists have commas between their entries. Nothing is read after the start, and nothing is allocated to read it.

use crate::kernel;
use libc::{c_char, c_int};
use std::ffi::CStr;
use std::net::Ipv6Addr;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

static DAEMON: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static PROTOCOLS: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static PORTS: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static ADDRESSES: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static INTERFACES: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static STACK: AtomicPtr<c_char> = AtomicPtr::new(null_mut());
static IS_EAGER: AtomicBool = AtomicBool::new(false);
static MOVES: AtomicU32 = AtomicU32::new(0);

/// An end of a connection: an address in the form of IPv6, and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) ip: [u8; 16],
    pub(crate) port: u16,
}

/// Reads the environment. Returns false if this program stays with the kernel.
pub(crate) fn read() -> bool {
    // SAFETY: the call takes a number.
    let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    if is_privileged || !is_program_meant() {
        return false;
    }
    IS_EAGER.store(variable(c"BERTHA_SOCKETS_EAGER").is_some(), Ordering::Relaxed);
    let moves = variable(c"BERTHA_SOCKETS_MOVES").and_then(|text| text.to_str().ok()?.parse().ok());
    MOVES.store(moves.unwrap_or(0), Ordering::Relaxed);
    keep(&PROTOCOLS, c"BERTHA_SOCKETS_PROTOCOLS");
    keep(&PORTS, c"BERTHA_SOCKETS_PORTS");
    keep(&ADDRESSES, c"BERTHA_SOCKETS_ADDRESSES");
    keep(&INTERFACES, c"BERTHA_SOCKETS_INTERFACES");
    keep(&STACK, c"BERTHA_SOCKETS_STACK");
    keep(&DAEMON, c"BERTHA_SOCKETS");
    daemon().is_some()
}

fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: the name ends by a zero.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a variable ends by a zero. Nothing changes the environment before the program's own code runs.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Keeps a copy of a variable, as the program may change its environment.
fn keep(kept: &AtomicPtr<c_char>, name: &CStr) {
    if let Some(value) = variable(name) {
        // SAFETY: the value ends by a zero.
        kept.store(unsafe { libc::strdup(value.as_ptr()) }, Ordering::Relaxed);
    }
}

fn kept(kept: &AtomicPtr<c_char>) -> Option<&'static CStr> {
    let value = kept.load(Ordering::Relaxed);
    // SAFETY: the copy ends by a zero, and is never freed.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// Returns the entries of a list.
fn entries(list: &'static CStr) -> impl Iterator<Item = &'static str> {
    list.to_str().unwrap_or("").split(',').map(str::trim)
}

fn is_program_meant() -> bool {
    let Some(programs) = variable(c"BERTHA_SOCKETS_PROGRAMS") else { return true };
    let mut path = [0_u8; 4096];
    // SAFETY: the name ends by a zero, and the buffer has this room.
    let len = unsafe { libc::readlink(c"/proc/self/exe".as_ptr(), path.as_mut_ptr().cast(), path.len()) };
    let path = usize::try_from(len).ok().and_then(|len| path.get(..len)).unwrap_or(&[]);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(&[]);
    entries(programs).any(|program| program.as_bytes() == name)
}

/// Returns the path of the daemon's socket.
pub(crate) fn daemon() -> Option<&'static CStr> {
    kept(&DAEMON)
}

/// Returns the stack by which the daemon carries connections, with its settings.
pub(crate) fn stack() -> Option<&'static CStr> {
    kept(&STACK)
}

/// Returns true if a device carries connections, and not a stack.
pub(crate) fn has_device() -> bool {
    stack().is_some_and(|settings| settings.to_bytes().starts_with(b"device="))
}

/// Returns true if the rules name ports.
pub(crate) fn has_ports() -> bool {
    kept(&PORTS).is_some()
}

/// Returns true if a connection pays with its first message.
pub(crate) fn is_eager() -> bool {
    IS_EAGER.load(Ordering::Relaxed)
}

/// Returns the writes after which a stream leaves the ring, or zero.
#[inline]
pub(crate) fn moves() -> u32 {
    MOVES.load(Ordering::Relaxed)
}

/// Returns true if the rules let a socket use a ring, a stack or a device.
pub(crate) fn allow(fd: c_int, ends: [End; 2]) -> bool {
    let has_protocol = kept(&PROTOCOLS).is_none_or(|protocols| {
        let name = match kernel::option(fd, libc::SOL_SOCKET, libc::SO_PROTOCOL) {
            Some(libc::IPPROTO_TCP) => "tcp",
            Some(libc::IPPROTO_UDP) => "udp",
            _ => return false,
        };
        entries(protocols).any(|protocol| protocol == name)
    });
    let has_port = kept(&PORTS).is_none_or(|ports| {
        entries(ports)
            .filter_map(|port| port.parse().ok())
            .any(|port: u16| ends.iter().any(|end| end.port == port))
    });
    let has_address = kept(&ADDRESSES).is_none_or(|addresses| {
        entries(addresses).filter_map(prefix).any(|prefix| ends.iter().any(|end| begins(end.ip, prefix)))
    });
    let has_interface = kept(&INTERFACES).is_none_or(|interfaces| {
        let mut name = [0; libc::IFNAMSIZ];
        let name = kernel::interface(fd, &mut name);
        entries(interfaces).any(|interface| name == Some(interface))
    });
    has_protocol && has_port && has_address && has_interface
}

/// Reads an address, and the number of its bits that count.
fn prefix(text: &str) -> Option<([u8; 16], u32)> {
    let (ip, bits) = text.split_once('/').map_or((text, None), |(ip, bits)| (ip, Some(bits)));
    let (ip, whole) = match ip.parse().ok()? {
        std::net::IpAddr::V4(ip) => (ip.to_ipv6_mapped().octets(), 32),
        std::net::IpAddr::V6(ip) => (ip.octets(), 128),
    };
    let bits: u32 = bits.map_or(Some(whole), |bits| bits.parse().ok())?;
    (bits <= whole).then_some((ip, 128 - whole + bits))
}

fn begins(ip: [u8; 16], (with, bits): ([u8; 16], u32)) -> bool {
    let differing = u128::from_be_bytes(ip) ^ u128::from_be_bytes(with);
    differing.leading_zeros() >= bits
}

/// Returns true for an address of this machine alone.
pub(crate) fn is_loopback(ip: &[u8; 16]) -> bool {
    matches!(ip, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, ..]) || *ip == Ipv6Addr::LOCALHOST.octets()
}
