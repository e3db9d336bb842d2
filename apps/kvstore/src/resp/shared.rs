//! The state that the clients of all shards share.

use super::clients::{Ending, Memory, Places};
use super::{Counters, Settings};
use bertha::Addr;
use std::sync::Arc;
use std::time::Instant;

/// The part that all shards have in common.
#[derive(Clone, Debug)]
pub(crate) struct RespShared {
    pub(crate) settings: Arc<Settings>,
    pub(crate) places: Arc<Places>,
    pub(crate) counters: Arc<Counters>,
    /// The memory for unfinished commands.
    pub(super) unfinished: Arc<Memory>,
    /// The memory for unsent replies.
    pub(super) unsent: Arc<Memory>,
}

impl RespShared {
    /// For at most so many clients, whatever the settings say.
    pub(crate) fn new(settings: Settings, most: usize) -> Self {
        let now = Instant::now();
        Self {
            places: Places::new(settings.clients.min(most), settings.idle, now),
            counters: Arc::new(Counters::new(now)),
            unfinished: Memory::new(settings.unfinished, Ending::Unfinished),
            unsent: Memory::new(settings.unsent, Ending::Unsent),
            settings: Arc::new(settings),
        }
    }

    /// Counts a connection that the store has ended, and tells of it.
    pub(super) fn tell(&self, peer: &Addr, ending: Ending) {
        if self.counters.ended(ending, Instant::now()) {
            tracing::warn!(%peer, %ending, "ended a connection; for a second, further ones are told at the level info");
        } else {
            tracing::info!(%peer, %ending, "ended a connection");
        }
    }
}
