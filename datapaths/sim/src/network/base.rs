//! The bottom of a simulated connection.

use super::Network;
use crate::SimRuntime;
use bertha_core::{Addr, Base, EcnMarks, Error, ErrorKind, Headroom, Properties};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The base of a [`SimConnection`](crate::SimConnection).
#[derive(Debug)]
pub struct SimBase {
    pub(super) network: Network,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    properties: Properties,
    headroom: Headroom,
    /// True if datagrams of this end may be marked.
    is_markable: AtomicBool,
}

impl SimBase {
    pub(super) fn new(network: Network, local: SocketAddr, peer: SocketAddr, properties: Properties) -> Self {
        let headroom = Headroom::new();
        Self { network, local, peer, properties, headroom, is_markable: AtomicBool::new(false) }
    }

    /// Returns true if the connection's datagrams may be marked.
    pub(super) fn is_markable(&self) -> bool {
        self.is_markable.load(Ordering::Relaxed)
    }

    /// Fails if a message of `len` bytes does not fit.
    pub(super) fn check(&self, len: usize) -> Result<(), Error> {
        fits(len, self.mtu())
    }
}

/// Fails if a message of `len` bytes exceeds `mtu`.
pub(crate) fn fits(len: usize, mtu: usize) -> Result<(), Error> {
    if len <= mtu {
        return Ok(());
    }
    Err(Error::new(ErrorKind::TooLarge, format!("message of {len} bytes, at most {mtu} fit")).at("sim"))
}

impl Base for SimBase {
    type Runtime = SimRuntime;

    fn runtime(&self) -> &SimRuntime {
        self.network.runtime()
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    /// Returns the MTU of the link to the peer at this moment.
    fn mtu(&self) -> usize {
        self.network.mtu(self.local.ip(), self.peer.ip())
    }

    fn local_addr(&self) -> Addr {
        Addr::Ip(self.local)
    }

    fn peer_addr(&self) -> Addr {
        Addr::Ip(self.peer)
    }

    fn properties(&self) -> Properties {
        self.properties
    }

    /// Permits or forbids marks. Only datagrams can be marked.
    fn set_ecn(&self, on: bool) -> bool {
        let is_possible = self.properties == Properties::DATAGRAM;
        if on && is_possible {
            self.network.count_marks(self.local, self.peer);
        }
        self.is_markable.store(on && is_possible, Ordering::Relaxed);
        is_possible
    }

    fn marks(&self) -> EcnMarks {
        self.network.marks(self.local, self.peer)
    }
}
