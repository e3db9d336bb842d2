//! The bottom of every connection over a port.

use crate::ecn::Ecn;
use crate::failure::{NAME, failure};
use crate::{Pool, TokioRuntime};
use bertha_core::{Addr, Base, Buf, EcnMarks, Error, ErrorKind, Headroom, Properties};
use bertha_netstack::HEADERS;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The [`Base`] of connections over DPDK.
#[derive(Debug)]
pub struct DpdkBase {
    runtime: TokioRuntime,
    pool: Pool,
    headroom: Headroom,
    /// The largest message that the path carries, as far as is known.
    mtu: Arc<AtomicUsize>,
    local: SocketAddr,
    peer: SocketAddr,
    pub(crate) ecn: Ecn,
}

impl DpdkBase {
    pub(crate) fn new(
        pool: Pool,
        mtu: Arc<AtomicUsize>,
        local: SocketAddr,
        peer: SocketAddr,
        ecn: Ecn,
    ) -> Self {
        Self { runtime: TokioRuntime, pool, headroom: Headroom::new(), mtu, local, peer, ecn }
    }

    /// Returns the error for a message that does not fit.
    #[cold]
    pub(crate) fn too_large(&self, len: usize) -> Error {
        let what = format!("message of {len} bytes to {}, at most {} fit", self.peer, self.mtu());
        failure(ErrorKind::TooLarge, what)
    }

    /// Returns the error for a call after [`close`](bertha_core::Connection::close).
    #[cold]
    pub(crate) fn closed(&self) -> Error {
        failure(ErrorKind::Closed, format!("this end closed the connection to {}", self.peer))
    }

    /// Returns the error for a peer that does not answer, or whose port is closed.
    #[cold]
    pub(crate) fn unreachable(&self, why: &str) -> Error {
        Error::new(ErrorKind::Unreachable, format!("nobody answers at {}: {why}", self.peer)).at(NAME)
    }
}

impl Base for DpdkBase {
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
        match len.checked_add(headroom) {
            Some(whole) if whole <= self.mtu() => self.pool.buffer(len, headroom + HEADERS),
            _ => Buf::new(len, headroom),
        }
    }

    /// The largest message that the interface carries, or less for ten minutes after a router has reported a path MTU (RFC 1191, RFC
    /// 8201). Larger messages are [`TooLarge`](ErrorKind::TooLarge).
    #[inline]
    fn mtu(&self) -> usize {
        // Relaxed access suffices: no other value depends on the number.
        self.mtu.load(Ordering::Relaxed)
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }

    fn peer_addr(&self) -> Addr {
        self.peer.into()
    }

    fn properties(&self) -> Properties {
        Properties::DATAGRAM
    }

    fn set_ecn(&self, on: bool) -> bool {
        self.ecn.set(on)
    }

    fn marks(&self) -> EcnMarks {
        self.ecn.marks()
    }
}
