//! A client, as the parts of the program that deal with the client share it.

use super::Ending;
use bertha::core::Network;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The state of a client. Each part is a fact by itself, so all accesses are relaxed.
#[derive(Debug)]
pub(in crate::resp) struct Client {
    id: u64,
    network: Option<Network>,
    /// Time at which it came.
    entered: Instant,
    /// The origin of `heard`.
    origin: Instant,
    /// When the client last sent bytes or took some, in milliseconds.
    heard: AtomicU64,
    /// The client has begun a command.
    is_within_command: AtomicBool,
    /// The client has to log in.
    is_stranger: AtomicBool,
    ending: OnceLock<Ending>,
    ended: Notify,
}

impl Client {
    /// The client with this number, which connects at `now` from this network.
    pub(super) fn new(id: u64, network: Option<Network>, origin: Instant, now: Instant) -> Self {
        let client = Self {
            id,
            network,
            entered: now,
            origin,
            heard: AtomicU64::new(0),
            is_within_command: AtomicBool::new(false),
            is_stranger: AtomicBool::new(false),
            ending: OnceLock::new(),
            ended: Notify::new(),
        };
        client.hear(now);
        client
    }

    /// A client for which nobody keeps a place.
    pub(in crate::resp) fn alone() -> Self {
        let now = Instant::now();
        Self::new(0, None, now, now)
    }

    /// The number of the client, which no other client of this process has had.
    pub(in crate::resp) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn entered(&self) -> Instant {
        self.entered
    }

    pub(super) fn network(&self) -> Option<Network> {
        self.network
    }

    /// Notes that the client sent or took bytes.
    pub(super) fn hear(&self, now: Instant) {
        let since = now.saturating_duration_since(self.origin).as_millis();
        self.heard.store(u64::try_from(since).unwrap_or(u64::MAX), Relaxed);
    }

    /// When the client last sent or took bytes, in milliseconds.
    pub(super) fn heard(&self) -> u64 {
        self.heard.load(Relaxed)
    }

    /// Returns the time for which the client has sent and taken nothing.
    pub(super) fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.origin).saturating_sub(Duration::from_millis(self.heard()))
    }

    /// Notes that the client has begun a command, or that it has finished the one before.
    pub(in crate::resp) fn set_within_command(&self, is_within: bool) {
        self.is_within_command.store(is_within, Relaxed);
    }

    pub(super) fn is_within_command(&self) -> bool {
        self.is_within_command.load(Relaxed)
    }

    /// Notes that the client has to log in, or that it has done so.
    pub(in crate::resp) fn set_stranger(&self, is_stranger: bool) {
        self.is_stranger.store(is_stranger, Relaxed);
    }

    /// Returns true as long as the client has to log in.
    pub(in crate::resp) fn is_stranger(&self) -> bool {
        self.is_stranger.load(Relaxed)
    }

    /// Ends the connection of the client. The first reason counts.
    pub(in crate::resp) fn end(&self, ending: Ending) {
        if self.ending.set(ending).is_ok() {
            self.ended.notify_one();
        }
    }

    /// The reason for which the connection has to end, if it has to.
    pub(in crate::resp) fn ending(&self) -> Option<Ending> {
        self.ending.get().copied()
    }

    /// Ready once the connection has to end. For one waiting task.
    pub(in crate::resp) async fn ended(&self) {
        while self.ending().is_none() {
            self.ended.notified().await;
        }
    }
}
