//! The bottom of a connection over a stream.

use bertha_core::{Addr, Base, Buf, Error, Properties};
use bertha_runtime_tokio::TokioRuntime;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Maximum size of a chunk.
pub(super) const LARGEST: usize = 16 << 20;

/// The [`Base`] of an [`IoConnection`](super::IoConnection). Its addresses are unnamed.
#[derive(Debug)]
pub struct IoBase {
    runtime: TokioRuntime,
    reserved: AtomicUsize,
}

impl IoBase {
    pub(super) fn new() -> Self {
        Self { runtime: TokioRuntime, reserved: AtomicUsize::new(0) }
    }
}

impl Base for IoBase {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &self.runtime
    }

    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        Buf::new(len, self.reserved())
    }

    // Relaxed: no other data depends on the number; layers reserve before the connection is shared.
    fn reserve(&self, bytes: usize) {
        self.reserved.fetch_add(bytes, Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Relaxed);
    }

    fn reserved(&self) -> usize {
        self.reserved.load(Relaxed)
    }

    fn mtu(&self) -> usize {
        LARGEST
    }

    fn local_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn peer_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn properties(&self) -> Properties {
        Properties::STREAM
    }
}
