//! The bottom of a connection over a stream.

use bertha_core::{Addr, Base, Headroom, Properties};
use bertha_runtime::tokio::TokioRuntime;

/// Maximum size of a chunk.
pub(super) const LARGEST: usize = 16 << 20;

/// The [`Base`] of an [`IoConnection`](super::IoConnection). Its addresses are unnamed.
#[derive(Debug)]
pub struct IoBase {
    runtime: TokioRuntime,
    headroom: Headroom,
}

impl IoBase {
    pub(super) fn new() -> Self {
        Self { runtime: TokioRuntime, headroom: Headroom::new() }
    }
}

impl Base for IoBase {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &self.runtime
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
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
