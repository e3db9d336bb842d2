//! The bottom of a simulated connection.

use super::Network;
use crate::SimRuntime;
use bertha_core::{Addr, Base, Buf, Error, ErrorKind, Properties};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The base of a [`SimConnection`](crate::SimConnection).
#[derive(Debug)]
pub struct SimBase {
    pub(super) network: Network,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    properties: Properties,
    reserved: AtomicUsize,
}

impl SimBase {
    pub(super) fn new(network: Network, local: SocketAddr, peer: SocketAddr, properties: Properties) -> Self {
        Self { network, local, peer, properties, reserved: AtomicUsize::new(0) }
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

    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        let headroom = self.reserved();
        Buf::new(len, headroom)
    }

    fn reserve(&self, bytes: usize) {
        self.reserved.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }

    fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    /// As the link to the peer is now.
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
}
