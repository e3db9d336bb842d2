//! A peer, as a UDP socket sends to it.

use super::peer::UdpPeer;
use crate::ecn::EcnState;
use quinn_udp::EcnCodepoint;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Where to send, and how.
#[derive(Debug)]
pub struct Remote {
    pub(super) peer: SocketAddr,
    /// The address to send from, if the socket has several.
    pub(super) source: Option<IpAddr>,
    connected: bool,
    segments: AtomicBool,
    ecn: Arc<EcnState>,
}

impl Remote {
    /// The peer that a socket is connected to. `segments`: runs may go there as one segmented datagram.
    pub(super) fn connected(peer: SocketAddr, segments: bool) -> Self {
        Self { peer, source: None, connected: true, segments: AtomicBool::new(segments), ecn: Arc::default() }
    }

    /// One of the peers of a socket that is not connected.
    pub(super) fn of(peer: UdpPeer, segments: bool) -> Self {
        Self { connected: false, source: peer.asked, ..Self::connected(peer.addr, segments) }
    }

    /// The address that the kernel has to be told.
    #[inline]
    pub(super) fn to(&self) -> Option<&SocketAddr> {
        (!self.connected).then_some(&self.peer)
    }

    /// The field of datagrams that go there, if they may be marked for congestion.
    pub(super) fn ecn(&self) -> Option<EcnCodepoint> {
        self.ecn.is_on().then_some(EcnCodepoint::Ect0)
    }

    /// Whether and how datagrams are marked.
    pub(super) fn ecn_state(&self) -> &Arc<EcnState> {
        &self.ecn
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
