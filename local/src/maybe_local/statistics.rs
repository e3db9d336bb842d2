//! The way of messages, for people who ask what a connection does.

use super::{Reason, Way};
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use bertha_core::{Connection, Statistics};
use bertha_datapath_shm::ShmConnection;
use std::pin::pin;
use std::task::{Context, Waker};

/// The way that messages take above [`MaybeLocal`](super::MaybeLocal).
///
/// If they go through shared memory, `ShmStatistics` of the memory stand in the layer below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MaybeLocalStatistics {
    /// The way, and the reason if it is not shared memory.
    pub way: Way,
}

impl LayerStatistics for MaybeLocalStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let is_memory = ("shared_memory", Value::Is(self.way == Way::Memory));
        match self.way {
            Way::Memory => vec![is_memory],
            Way::Network(reason) => vec![is_memory, ("reason", Value::Text(reason.to_string()))],
        }
    }
}

/// The way that the messages of a connection take.
///
/// The memory shared with the peer is closed where it is dropped: the peer hears of the end of the connection from
/// the layers below, and a stack that is left for another stack does not end the connection.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "each message of a local connection would follow a further pointer"
)]
pub(super) enum WayTaken {
    Memory(ShmConnection),
    Network(Reason),
}

impl WayTaken {
    pub(super) fn way(&self) -> Way {
        match self {
            Self::Memory(_) => Way::Memory,
            Self::Network(reason) => Way::Network(*reason),
        }
    }

    /// Returns the memory that is shared with the peer.
    #[inline]
    pub(super) fn near(&self) -> Option<&ShmConnection> {
        match self {
            Self::Memory(near) => Some(near),
            Self::Network(_) => None,
        }
    }
}

impl Drop for WayTaken {
    fn drop(&mut self) {
        if let Some(near) = self.near() {
            // Closing does not wait.
            let _ = pin!(near.close()).poll(&mut Context::from_waker(Waker::noop()));
        }
    }
}

impl Observed for WayTaken {
    fn observe(&self, into: &mut Statistics) {
        if let Some(near) = self.near() {
            near.observe(into);
        }
        into.add("MaybeLocal", MaybeLocalStatistics { way: self.way() });
    }
}
