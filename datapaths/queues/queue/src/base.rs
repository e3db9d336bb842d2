//! The bottom of a queue connection.

use crate::{Abilities, Ordering};
use bertha_core::{Addr, Base, Buf, Error, Properties};
use bertha_runtime_tokio::TokioRuntime;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The [`Base`] of every [`QueueConnection`](crate::QueueConnection). Its ends never meet, so both addresses are
/// [`Addr::Unnamed`].
#[derive(Debug)]
pub struct QueueBase {
    runtime: TokioRuntime,
    reserved: AtomicUsize,
    mtu: usize,
    properties: Properties,
}

impl QueueBase {
    pub(crate) fn new(abilities: &Abilities) -> Self {
        let mut properties = Properties::default();
        properties.reliable = true;
        properties.ordered = abilities.ordering == Ordering::OneReceiver;
        // A message whose acknowledgement gets lost is delivered again.
        properties.repeats = true;
        Self { runtime: TokioRuntime, reserved: AtomicUsize::new(0), mtu: abilities.max_message, properties }
    }
}

impl Base for QueueBase {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &self.runtime
    }

    fn buffer(&self, len: usize) -> Result<Buf, Error> {
        Buf::new(len, self.reserved())
    }

    fn reserve(&self, bytes: usize) {
        // Relaxed access suffices: no other value depends on the number, and layers reserve before the
        // connection is shared.
        self.reserved.fetch_add(bytes, Relaxed);
    }

    fn release(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Relaxed);
    }

    fn reserved(&self) -> usize {
        self.reserved.load(Relaxed)
    }

    fn mtu(&self) -> usize {
        self.mtu
    }

    fn local_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn peer_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn properties(&self) -> Properties {
        self.properties
    }
}
