//! The other end of a datagram, as the demultiplexer tells connections apart.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// A peer of a UDP socket. On a socket that is bound to all addresses of the host, with the address that the peer has asked: replies leave
/// from there, and a peer that asks two addresses has two connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UdpPeer {
    pub(super) addr: SocketAddr,
    pub(super) asked: Option<IpAddr>,
}

impl UdpPeer {
    /// A peer on a socket that is bound to all addresses, and the destination of its datagram: none that a reply can leave from if it
    /// addresses several hosts.
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

/// The hash is that of the address alone: hardly a peer asks two addresses, and a socket bound to one address
/// pays nothing.
impl Hash for UdpPeer {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.addr.hash(state);
    }
}
