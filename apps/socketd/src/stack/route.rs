//! The address from which this machine sends.

use bertha_core::Addr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Returns the address of this end of a connection, as TCP would tell it: that of the connection, or that from which the machine sends to
/// the peer where the connection has none of its own.
pub(super) fn local(connection: &Addr, peer: SocketAddr) -> SocketAddr {
    let (ip, port) = match connection {
        Addr::Ip(local) => (local.ip(), local.port()),
        _ => (IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0),
    };
    let ip = if ip.is_unspecified() { toward(peer).unwrap_or(ip) } else { ip };
    SocketAddr::new(ip, port)
}

fn toward(peer: SocketAddr) -> Option<IpAddr> {
    let any = match peer {
        SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // Nothing is sent: the kernel looks for a route.
    socket.connect(peer).ok()?;
    Some(socket.local_addr().ok()?.ip())
}
