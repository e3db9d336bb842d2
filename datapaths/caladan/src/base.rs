//! The bottom of every connection over Caladan.

use crate::CaladanRuntime;
use crate::failure::failure;
use bertha_core::{Addr, Base, Error, ErrorKind, Headroom, Properties, Runtime};
use std::net::{SocketAddr, SocketAddrV4};

/// The [`Base`] of connections over Caladan, by UDP and TCP alike, so that such connections can be
/// alternatives of an erased type. Its runtime is the runtime of the tasks that own the connection.
#[derive(Debug)]
pub struct CaladanBase<R = CaladanRuntime> {
    runtime: R,
    headroom: Headroom,
    mtu: usize,
    local: SocketAddrV4,
    peer: SocketAddrV4,
    properties: Properties,
}

impl CaladanBase {
    pub(crate) fn new(properties: Properties, mtu: usize, local: SocketAddrV4, peer: SocketAddrV4) -> Self {
        Self { runtime: CaladanRuntime, headroom: Headroom::new(), mtu, local, peer, properties }
    }

    /// Returns this base for tasks of another runtime.
    #[cfg(feature = "tokio")]
    pub(crate) fn on<R>(&self, runtime: R) -> CaladanBase<R> {
        let Self { mtu, local, peer, properties, .. } = *self;
        CaladanBase { runtime, headroom: Headroom::new(), mtu, local, peer, properties }
    }
}

impl<R> CaladanBase<R> {
    /// Returns the error for a message that does not fit.
    #[cold]
    pub(crate) fn too_large(&self, len: usize) -> Error {
        let what = format!("message of {len} bytes to {}, at most {} fit", self.peer, self.mtu);
        failure(ErrorKind::TooLarge, what)
    }

    /// Returns the error for a call after [`close`](bertha_core::Connection::close).
    #[cold]
    pub(crate) fn closed(&self) -> Error {
        failure(ErrorKind::Closed, format!("this end closed the connection to {}", self.peer))
    }
}

impl<R: Runtime> Base for CaladanBase<R> {
    type Runtime = R;

    fn runtime(&self) -> &R {
        &self.runtime
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    #[inline]
    fn mtu(&self) -> usize {
        self.mtu
    }

    fn local_addr(&self) -> Addr {
        SocketAddr::V4(self.local).into()
    }

    fn peer_addr(&self) -> Addr {
        SocketAddr::V4(self.peer).into()
    }

    fn properties(&self) -> Properties {
        self.properties
    }
}
