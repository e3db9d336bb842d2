//! The bottom of every connection over Caladan.

use crate::CaladanRuntime;
use crate::failure::failure;
use bertha_core::{Addr, Base, Buf, Error, ErrorKind, Properties, Runtime};
use std::net::{SocketAddr, SocketAddrV4};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The [`Base`] of connections over Caladan, by UDP and TCP alike, so that such connections can be
/// alternatives of an erased type. Its runtime is the runtime of the tasks that own the connection.
#[derive(Debug)]
pub struct CaladanBase<R = CaladanRuntime> {
    runtime: R,
    reserved: AtomicUsize,
    mtu: usize,
    local: SocketAddrV4,
    peer: SocketAddrV4,
    properties: Properties,
}

impl CaladanBase {
    pub(crate) fn new(properties: Properties, mtu: usize, local: SocketAddrV4, peer: SocketAddrV4) -> Self {
        Self { runtime: CaladanRuntime, reserved: AtomicUsize::new(0), mtu, local, peer, properties }
    }

    /// Returns this base for tasks of another runtime.
    #[cfg(feature = "tokio")]
    pub(crate) fn on<R>(&self, runtime: R) -> CaladanBase<R> {
        let Self { mtu, local, peer, properties, .. } = *self;
        CaladanBase { runtime, reserved: AtomicUsize::new(0), mtu, local, peer, properties }
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
    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        Buf::new(len, self.reserved())
    }

    fn reserve(&self, bytes: usize) {
        // Relaxed access suffices: no other value depends on the number, and layers reserve before the
        // connection is shared.
        self.reserved.fetch_add(bytes, Ordering::Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }

    #[inline]
    fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
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
