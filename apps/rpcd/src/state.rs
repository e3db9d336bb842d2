//! The settings and services that all applications of a daemon have in common.

use crate::services::Services;
use bertha_datapath_shm::{Users, Waiting};
use std::time::Duration;
use tokio::time::Instant;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) services: Services,
    pub(crate) users: Users,
    pub(crate) waiting: Waiting,
    /// Number of bytes to which each heap of an application grows.
    pub(crate) heap: usize,
    began: Instant,
}

impl State {
    pub(crate) fn new(services: Services, users: Users, waiting: Waiting, heap: usize) -> Self {
        Self { services, users, waiting, heap, began: Instant::now() }
    }

    /// Returns the time since the daemon began, which is the clock of engines.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the instant of a time of that clock.
    pub(crate) fn instant(&self, time: Duration) -> Instant {
        self.began + time
    }
}
