//! The messages under reassembly, and the size of pieces, for people who ask what a connection does.

use super::assembly::Assembly;
use super::discovery::Discovery;
use bertha_core::Statistics;
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use parking_lot::Mutex;
use std::sync::Arc;

/// The state of a connection of [`Fragment`](super::Fragment) at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentStatistics {
    /// Messages that have arrived in part.
    pub incomplete_messages: u64,
    /// The memory that these messages occupy, in bytes.
    pub incomplete_bytes: u64,
    /// The largest piece by the settings, in bytes. A piece is smaller if the connection below carries less.
    pub piece: u64,
    /// The MTU of the path as discovered so far, in bytes; `None` if it is not discovered.
    pub path_mtu: Option<u64>,
}

impl LayerStatistics for FragmentStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        let mut values = vec![
            ("incomplete_messages", Value::Number(self.incomplete_messages)),
            ("incomplete", Value::Bytes(self.incomplete_bytes)),
            ("piece", Value::Bytes(self.piece)),
        ];
        values.extend(self.path_mtu.map(|mtu| ("path_mtu", Value::Bytes(mtu))));
        values
    }
}

/// The parts of a connection that tell its state.
pub(super) struct FragmentState {
    pub(super) assembly: Arc<Mutex<Assembly>>,
    pub(super) discovery: Option<Arc<Discovery>>,
    pub(super) piece: usize,
}

impl Observed for FragmentState {
    fn observe(&self, into: &mut Statistics) {
        let (messages, bytes) = self.assembly.lock().incomplete();
        let statistics = FragmentStatistics {
            incomplete_messages: messages as u64,
            incomplete_bytes: bytes as u64,
            piece: self.piece as u64,
            path_mtu: self.discovery.as_ref().map(|discovery| discovery.size() as u64),
        };
        into.add("Fragment", statistics);
    }
}
