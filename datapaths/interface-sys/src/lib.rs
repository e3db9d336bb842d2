//! The few requests of Linux that make a TUN device ([`tun`]), and that tell of an interface its longest packet
//! ([`mtu`]) and the offloads that join packets ([`joining`]), and the request that tells of a packet socket what it had no room for
//! ([`missed`]).
//!
//! The interface is safe: names are checked, and the kernel reads and writes only memory of a call.

#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod name;
mod request;

use name::Name;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

/// Makes a TUN device: packets that are routed to it are read from the file, whole IP packets of at most its MTU with their
/// checksums, and packets that are written to the file arrive at the device. The device is down, and
/// it is gone when the file is closed. Reading and writing never wait.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) if the name is no name of an interface; `EBUSY` if there is such an
/// interface; `EPERM` without the capability `CAP_NET_ADMIN`; errors of opening `/dev/net/tun`.
pub fn tun(name: &str) -> io::Result<File> {
    let name = Name::new(name)?;
    let mut options = OpenOptions::new();
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = options.read(true).write(true).custom_flags(flags).open("/dev/net/tun")?;
    request::make_tun(&file, name)?;
    Ok(file)
}

/// Returns the number of bytes of the longest packet that an interface sends.
///
/// # Errors
/// [`InvalidInput`](io::ErrorKind::InvalidInput) if the name is no name of an interface, `ENODEV` if there is no such
/// interface.
pub fn mtu(interface: &str) -> io::Result<u32> {
    request::mtu(Name::new(interface)?)
}

/// Returns the names of the offloads of an interface that join received packets into longer ones, as `ethtool` calls them:
/// `gro` and `lro`, if they are on.
///
/// # Errors
/// Errors of [`mtu`]. An interface that knows no offloads has none.
pub fn joining(interface: &str) -> io::Result<Vec<&'static str>> {
    let name = Name::new(interface)?;
    // An interface that is not there is told from an interface without offloads.
    request::mtu(name)?;
    let is_on = [("gro", request::has_gro(name)?), ("lro", request::has_lro(name)?)];
    Ok(is_on.into_iter().filter(|(_, is_on)| *is_on).map(|(offload, _)| offload).collect())
}

/// Returns the number of packets for which a packet socket had no room since the last call.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOPROTOOPT` if the socket is no packet socket, `ENOTSOCK` if the descriptor is no socket.
pub fn missed(socket: &impl AsFd) -> io::Result<u32> {
    request::missed(socket.as_fd())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_has_an_mtu_and_joins_nothing_by_lro() {
        assert!(mtu("lo").unwrap() >= 1_280);
        assert!(!joining("lo").unwrap().contains(&"lro"));
    }

    #[test]
    fn what_is_no_interface_is_an_error() {
        for name in
            ["", "a-name-that-is-too-long", "sixteen-letters!", "a/b", "a b", "nul\0", ".", "all", "default"]
        {
            assert_eq!(mtu(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
            assert_eq!(tun(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name}");
        }
        for error in [mtu("not-there").unwrap_err(), joining("not-there").unwrap_err()] {
            assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NODEV.raw_os_error()));
        }
    }

    #[test]
    fn a_socket_of_another_kind_tells_nothing_of_packets() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(missed(&socket).unwrap_err().raw_os_error(), Some(libc::EOPNOTSUPP));
        let file = File::open("/dev/null").unwrap();
        assert_eq!(missed(&file).unwrap_err().raw_os_error(), Some(libc::ENOTSOCK));
    }

    #[test]
    fn a_device_is_made_once_at_a_time() {
        let name = "bertha-tun-test";
        let Ok(device) = tun(name) else { return };
        assert_eq!(mtu(name).unwrap(), 1_500);
        assert_eq!(tun(name).unwrap_err().raw_os_error(), Some(rustix::io::Errno::BUSY.raw_os_error()));
        drop(device);
        assert!(mtu(name).is_err());
    }
}
