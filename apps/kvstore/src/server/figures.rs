//! The figures of a running store.

use crate::resp::RespShared;
use crate::shared_store::SharedStore;

/// The figures of a running store, for those who watch it. Clones tell of the same store.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub(super) stores: Vec<SharedStore>,
    pub(super) resp: Option<RespShared>,
}

impl Figures {
    /// Returns the number of records in the shards of this process.
    pub fn records(&self) -> u64 {
        self.stores.iter().map(|store| store.borrow().len() as u64).sum()
    }

    /// Returns the number of bytes in all keys and values of the shards of this process.
    pub fn bytes(&self) -> u64 {
        self.stores.iter().map(|store| store.borrow().bytes() as u64).sum()
    }

    /// Returns the number of clients of Redis at this moment.
    pub fn resp_clients(&self) -> u64 {
        self.resp.as_ref().map_or(0, |resp| resp.counters.clients())
    }

    /// Returns the number of clients of Redis so far.
    pub fn resp_connections(&self) -> u64 {
        self.resp.as_ref().map_or(0, |resp| resp.counters.connections())
    }

    /// Returns the number of commands of clients of Redis so far.
    pub fn resp_commands(&self) -> u64 {
        self.resp.as_ref().map_or(0, |resp| resp.counters.commands())
    }

    /// Returns the number of connections of clients of Redis that the store ended, by reason.
    pub fn resp_endings(&self) -> Vec<(&'static str, u64)> {
        self.resp.iter().flat_map(|resp| resp.counters.endings()).collect()
    }
}
