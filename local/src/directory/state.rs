//! The clients and services of a directory.

use super::counts::{Counts, DirectoryStatistics};
use super::entries::Entries;
use super::packets::Packets;
use super::places::Places;
use super::rules::Rules;
use super::unread::Unread;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::task::AbortHandle;

/// The state that all clients of a directory share. Numbers are those of their connections.
#[derive(Debug)]
pub(super) struct DirectoryState {
    pub(super) entries: Entries,
    /// The sockets of the services, for their visitors.
    pub(super) services: HashMap<u64, Arc<Packets>>,
    pub(super) places: Places,
    /// The tasks that serve the clients.
    pub(super) tasks: HashMap<u64, AbortHandle>,
    /// The services that have not read what they were handed.
    pub(super) unread: Unread,
    pub(super) counts: Counts,
}

impl DirectoryState {
    /// Makes the state of a directory with these places for clients, whose process may have this number of descriptors.
    pub(super) fn new(rules: Rules, places: usize, descriptors: usize) -> Self {
        Self {
            entries: Entries::new(rules, places),
            services: HashMap::new(),
            places: Places::default(),
            tasks: HashMap::new(),
            unread: Unread::new(descriptors),
            counts: Counts::default(),
        }
    }

    /// Ends a connection. Returns false if it has ended already.
    pub(super) fn end(&self, number: u64) -> bool {
        self.tasks.get(&number).inspect(|task| task.abort()).is_some()
    }

    pub(super) fn statistics(&self) -> DirectoryStatistics {
        self.counts.statistics(self.tasks.len(), self.entries.count())
    }
}
