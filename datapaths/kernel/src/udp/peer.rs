//! The peer of a datagram: the key by which the demultiplexer finds a connection.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// A peer of a UDP socket.
///
/// On a socket that is bound to all addresses of the host, a peer has the address to which it has sent:
/// replies leave from that address, and a peer that sends to two addresses has two connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpPeer {
    pub(super) addr: SocketAddr,
    pub(super) asked: Option<IpAddr>,
}

impl UdpPeer {
    /// Makes a peer on a socket that is bound to all addresses, from the destination of its datagram. No
    /// reply can leave from an address of several hosts (multicast, broadcast), so that is left out.
    pub(super) fn asking(addr: SocketAddr, destination: Option<IpAddr>) -> Self {
        let reaches_many =
            |ip: &IpAddr| ip.is_multicast() || matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
        Self { addr, asked: destination.filter(|ip| !reaches_many(ip)) }
    }
}

impl From<SocketAddr> for UdpPeer {
    #[inline]
    fn from(addr: SocketAddr) -> Self {
        Self { addr, asked: None }
    }
}

/// The hash covers the peer's own address alone: hardly a peer sends to two addresses, and a socket that is
/// bound to an address pays nothing.
impl Hash for UdpPeer {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.addr.hash(state);
    }
}
