//! The destination of datagrams.

use super::peer::UdpPeer;
use crate::ecn::EcnState;
use quinn_udp::EcnCodepoint;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Destination of datagrams, and the way of sending to it.
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
    /// Creates the peer that a socket is connected to. `segments` permits segmented datagrams.
    pub(super) fn connected(peer: SocketAddr, segments: bool) -> Self {
        Self { peer, source: None, connected: true, segments: AtomicBool::new(segments), ecn: Arc::default() }
    }

    /// Creates a peer of a socket that is not connected.
    pub(super) fn of(peer: UdpPeer, segments: bool) -> Self {
        Self { connected: false, source: peer.asked, ..Self::connected(peer.addr, segments) }
    }

    /// Returns the address that a system call has to name; `None` if the socket is connected.
    #[inline]
    pub(super) fn to(&self) -> Option<&SocketAddr> {
        (!self.connected).then_some(&self.peer)
    }

    /// Returns the ECN codepoint for datagrams to the peer, if they may be marked.
    pub(super) fn ecn(&self) -> Option<EcnCodepoint> {
        self.ecn.is_on().then_some(EcnCodepoint::Ect0)
    }

    /// Returns the state of congestion marks.
    pub(super) fn ecn_state(&self) -> &Arc<EcnState> {
        &self.ecn
    }

    /// Returns true if runs may be sent as a segmented datagram.
    pub(super) fn segments(&self) -> bool {
        // Relaxed access suffices: the flag is a hint, and no other value depends on it.
        self.segments.load(Ordering::Relaxed)
    }

    /// Records that the path does not carry segmented datagrams.
    pub(super) fn never_segment(&self) {
        self.segments.store(false, Ordering::Relaxed);
    }
}
