//! The bottom of a queue connection.

use crate::{Abilities, Ordering};
use bertha_core::{Addr, Base, Headroom, Properties};
use bertha_runtime::tokio::TokioRuntime;

/// The [`Base`] of every [`QueueConnection`](crate::QueueConnection). Its ends never meet, so both addresses are
/// [`Addr::Unnamed`].
#[derive(Debug)]
pub struct QueueBase {
    runtime: TokioRuntime,
    headroom: Headroom,
    mtu: usize,
    properties: Properties,
}

impl QueueBase {
    pub(crate) fn new(abilities: &Abilities, receipts: bool) -> Self {
        let mut properties = Properties::default();
        properties.reliable = true;
        properties.ordered = abilities.ordering == Ordering::OneReceiver;
        // A message whose acknowledgement gets lost is delivered again.
        properties.repeats = true;
        properties.receipts = receipts;
        Self { runtime: TokioRuntime, headroom: Headroom::new(), mtu: abilities.max_message, properties }
    }
}

impl Base for QueueBase {
    type Runtime = TokioRuntime;

    fn runtime(&self) -> &TokioRuntime {
        &self.runtime
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
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
