//! The identity of a socket, as the kernel tells it.

use nix::{getsockopt_impl, libc, sockopt_impl};
use rustix::net::sockopt::{socket_protocol, socket_type};
use rustix::net::{SocketType, getpeername, getsockname, ipproto};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

sockopt_impl!(
    /// The number of the network namespace of a socket, which the kernel never gives twice.
    Namespace,
    GetOnly,
    libc::SOL_SOCKET,
    libc::SO_NETNS_COOKIE,
    u64
);

/// An end of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Identity {
    namespace: u64,
    pub(crate) local: SocketAddr,
    pub(crate) peer: SocketAddr,
}

impl Identity {
    /// Asks the kernel about a socket.
    pub(crate) fn of(socket: &OwnedFd) -> io::Result<Self> {
        let is_tcp =
            socket_type(socket)? == SocketType::STREAM && socket_protocol(socket)? == Some(ipproto::TCP);
        if !is_tcp {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let address = |found: rustix::net::SocketAddrAny| SocketAddr::try_from(found).map(plain);
        Ok(Self {
            namespace: namespace(socket)?,
            local: address(getsockname(socket)?)?,
            // A connection that is over has no peer.
            peer: address(getpeername(socket)?.ok_or(io::ErrorKind::NotConnected)?)?,
        })
    }

    #[cfg(test)]
    pub(crate) fn new(namespace: u64, local: SocketAddr, peer: SocketAddr) -> Self {
        Self { namespace, local, peer }
    }

    /// Returns the other end of the same connection.
    pub(crate) fn other(self) -> Self {
        Self { namespace: self.namespace, local: self.peer, peer: self.local }
    }
}

/// Asks the kernel for the network namespace of a socket.
pub(crate) fn namespace(socket: &OwnedFd) -> io::Result<u64> {
    Ok(nix::sys::socket::getsockopt(socket, Namespace)?)
}

/// Addresses are compared in the form of IPv6, since an end may have a socket of IPv6, and the other end of IPv4.
fn plain(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map_or(IpAddr::V6(ip), IpAddr::V4),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
