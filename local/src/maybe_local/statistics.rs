//! The way of messages, for people who ask what a connection does.

use super::Way;
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use bertha_core::{Connection, Statistics};
use bertha_datapath_shm::ShmConnection;
use std::sync::Arc;

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

/// The way of a connection, and its memory if it has any.
#[derive(Debug)]
pub(super) struct WayTaken {
    pub(super) way: Way,
    pub(super) near: Option<Arc<ShmConnection>>,
}

impl Observed for WayTaken {
    fn observe(&self, into: &mut Statistics) {
        if let Some(near) = &self.near {
            near.observe(into);
        }
        into.add("MaybeLocal", MaybeLocalStatistics { way: self.way });
    }
}
