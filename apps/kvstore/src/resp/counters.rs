//! Figures of all clients together.

use super::clients::Ending;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Figures of all clients of all shards together. Each is a number by itself, so all of them are relaxed.
#[derive(Debug)]
pub(crate) struct Counters {
    started: Instant,
    /// The clients that there are.
    clients: AtomicU64,
    /// The clients that there have been.
    connections: AtomicU64,
    commands: AtomicU64,
    ended: [AtomicU64; Ending::ALL.len()],
    /// The second, from one on, in which the last warning was given.
    warned: AtomicU64,
}

impl Counters {
    pub(super) fn new(started: Instant) -> Self {
        Self {
            started,
            clients: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            commands: AtomicU64::new(0),
            ended: Default::default(),
            warned: AtomicU64::new(0),
        }
    }

    pub(super) fn connected(&self) {
        self.clients.fetch_add(1, Relaxed);
        self.connections.fetch_add(1, Relaxed);
    }

    pub(super) fn disconnected(&self) {
        self.clients.fetch_sub(1, Relaxed);
    }

    pub(super) fn carried_out(&self, commands: usize) {
        self.commands.fetch_add(commands as u64, Relaxed);
    }

    /// Counts a connection that the store ended. Returns true if a warning is due: one a second, however many there are.
    pub(super) fn ended(&self, ending: Ending, now: Instant) -> bool {
        if let Some(counter) = self.ended.get(ending as usize) {
            counter.fetch_add(1, Relaxed);
        }
        let second = now.saturating_duration_since(self.started).as_secs() + 1;
        self.warned.swap(second, Relaxed) != second
    }

    pub(super) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    pub(crate) fn clients(&self) -> u64 {
        self.clients.load(Relaxed)
    }

    pub(crate) fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    pub(crate) fn commands(&self) -> u64 {
        self.commands.load(Relaxed)
    }

    /// The connections that the store ended for each reason, by its name.
    pub(crate) fn endings(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Ending::ALL.into_iter().zip(&self.ended).map(|(ending, count)| (ending.name(), count.load(Relaxed)))
    }
}
