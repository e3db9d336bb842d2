//! Requests about an interface by its name.

use crate::name::{NAME, Name};
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// `TUNSETIFF` of Linux's `if_tun.h`.
const SET_TUN: Opcode = opcode::write::<c_int>(b'T', 202);

/// `SIOCGIFMTU` and `SIOCETHTOOL` of Linux's `sockios.h`.
const GET_MTU: Opcode = 0x8921;
const ETHTOOL: Opcode = 0x8946;

/// A TUN device that hands over packets without a header of its own, and that nobody else has.
const FLAGS: u16 = 0x0001 | 0x1000 | 0x8000;

/// `PACKET_STATISTICS` of Linux's `if_packet.h`.
const PACKET_STATISTICS: c_int = 6;

/// `ETHTOOL_GGRO` and `ETHTOOL_GFLAGS` of Linux's `ethtool.h`, and the flag for LRO.
const GET_GRO: u32 = 0x2b;
const GET_FLAGS: u32 = 0x25;
const LRO: u32 = 1 << 15;

/// Number of bytes behind the name in [`Request`].
const VALUE: usize = 24;

/// `struct ifreq` of Linux, with its union as bytes.
#[repr(C, align(8))]
struct Request {
    name: [u8; NAME],
    value: [u8; VALUE],
}

/// `struct ethtool_value` of Linux.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// `struct tpacket_stats` of Linux.
#[repr(C)]
struct PacketStatistics {
    packets: u32,
    drops: u32,
}

/// Makes the file of `/dev/net/tun` a device of this name.
pub(crate) fn make_tun(file: &File, name: Name) -> io::Result<()> {
    let mut request = Request::new(name, FLAGS.to_ne_bytes());
    // SAFETY: the request takes and changes a `struct ifreq`, which `Request` is, and keeps no address of it.
    let call = unsafe { Updater::<SET_TUN, Request>::new(&mut request) };
    // SAFETY: the call does what its constructor promises: it reads and writes the request alone.
    unsafe { ioctl(file.as_fd(), call) }?;
    Ok(())
}

pub(crate) fn mtu(name: Name) -> io::Result<u32> {
    let mut request = Request::new(name, [0; 4]);
    let socket = socket()?;
    // SAFETY: the request takes and changes a `struct ifreq`, which `Request` is, and keeps no address of it.
    let call = unsafe { Updater::<GET_MTU, Request>::new(&mut request) };
    // SAFETY: the call does what its constructor promises: it reads and writes the request alone.
    unsafe { ioctl(socket.as_fd(), call) }?;
    let [a, b, c, d, ..] = request.value;
    Ok(u32::from_ne_bytes([a, b, c, d]))
}

pub(crate) fn missed(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut statistics = PacketStatistics { packets: 0, drops: 0 };
    let mut len = size_of::<PacketStatistics>() as libc::socklen_t;
    let (at, fd) = ((&raw mut statistics).cast(), socket.as_raw_fd());
    // SAFETY: the kernel writes at most `len` bytes at `at`, which is a value of that size, and keeps no address of it.
    let answered = unsafe { libc::getsockopt(fd, libc::SOL_PACKET, PACKET_STATISTICS, at, &raw mut len) };
    if answered == 0 { Ok(statistics.drops) } else { Err(io::Error::last_os_error()) }
}

pub(crate) fn has_gro(name: Name) -> io::Result<bool> {
    Ok(ethtool(name, GET_GRO)? != 0)
}

pub(crate) fn has_lro(name: Name) -> io::Result<bool> {
    Ok(ethtool(name, GET_FLAGS)? & LRO != 0)
}

/// Returns the answer to a request of `ethtool` that reads a number; zero if the interface does not know the request.
fn ethtool(name: Name, command: u32) -> io::Result<u32> {
    let mut value = EthtoolValue { command, data: 0 };
    let mut request = Request::new(name, (&raw mut value).expose_provenance().to_ne_bytes());
    let socket = socket()?;
    // SAFETY: the request takes a `struct ifreq`, which `Request` is, with the address of a `struct ethtool_value`, which lives
    // until the end of this function; both commands change its number alone, and keep no address.
    let call = unsafe { Updater::<ETHTOOL, Request>::new(&mut request) };
    // SAFETY: the call does what its constructor promises: it reads and writes the request and the value alone.
    let answered = unsafe { ioctl(socket.as_fd(), call) };
    match answered {
        Ok(()) => Ok(value.data),
        Err(rustix::io::Errno::OPNOTSUPP) => Ok(0),
        Err(error) => Err(error.into()),
    }
}

impl Request {
    fn new<const LEN: usize>(name: Name, bytes: [u8; LEN]) -> Self {
        const { assert!(LEN <= VALUE) };
        let mut value = [0; VALUE];
        value.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        Self { name: name.0, value }
    }
}

/// Returns a socket of any kind, which requests about interfaces need.
fn socket() -> io::Result<UdpSocket> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
}
