//! The bottom of every connection over TCP.

use crate::TokioRuntime;
use crate::queue::streams::{NAME, failure};
use bertha_core::{Addr, Base, Buf, Error, ErrorKind, Headroom, Properties};
use std::net::SocketAddr;

/// The [`Base`] of connections over TCP and DPDK. Its buffers are memory of this process, since messages are longer than packets.
#[derive(Debug)]
pub struct TcpBase {
    runtime: TokioRuntime,
    headroom: Headroom,
    mtu: usize,
    local: SocketAddr,
    peer: SocketAddr,
}

impl TcpBase {
    pub(super) fn new(mtu: usize, local: SocketAddr, peer: SocketAddr) -> Self {
        Self { runtime: TokioRuntime, headroom: Headroom::new(), mtu, local, peer }
    }

    /// Returns the error for a message that does not fit.
    #[cold]
    pub(super) fn too_large(&self, len: usize) -> Error {
        let what = format!("message of {len} bytes to {}, at most {} fit", self.peer, self.mtu);
        failure(ErrorKind::TooLarge, what)
    }

    /// Returns the error for a call after [`close`](bertha_core::Connection::close).
    #[cold]
    pub(super) fn closed(&self) -> Error {
        failure(ErrorKind::Closed, format!("this end closed the connection to {}", self.peer))
    }
}

impl Base for TcpBase {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &self.runtime
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    #[inline]
    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        let headroom = self.reserved();
        Buf::new(len, headroom).map_err(|error| error.at(NAME))
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }

    fn peer_addr(&self) -> Addr {
        self.peer.into()
    }

    fn properties(&self) -> Properties {
        Properties::STREAM
    }
}
