//! A peer, as a UDP socket sends to it.

use super::socket::UdpSocket;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where to send, and how.
#[derive(Debug)]
pub struct Remote {
    pub(super) peer: SocketAddr,
    connected: bool,
    segments: AtomicBool,
}

impl Remote {
    /// The peer that the socket is connected to.
    pub(super) fn connected(socket: &UdpSocket, peer: SocketAddr) -> Self {
        Self { peer, connected: true, segments: AtomicBool::new(socket.segments()) }
    }

    /// One of the peers of a socket that is not connected.
    pub(super) fn of(socket: &UdpSocket, peer: SocketAddr) -> Self {
        Self { connected: false, ..Self::connected(socket, peer) }
    }

    /// The address that the kernel has to be told.
    #[inline]
    pub(super) fn to(&self) -> Option<&SocketAddr> {
        (!self.connected).then_some(&self.peer)
    }

    /// Whether runs may go there as one segmented datagram.
    pub(super) fn segments(&self) -> bool {
        // Relaxed: a hint that stands for itself.
        self.segments.load(Ordering::Relaxed)
    }

    /// The path turned out not to allow segmented datagrams.
    pub(super) fn never_segment(&self) {
        self.segments.store(false, Ordering::Relaxed);
    }
}
