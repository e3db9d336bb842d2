//! The events of a directory so far, for its operator.

use bertha_core::log_pause::LogPause;
use std::time::{Duration, Instant};

/// The time between two lines of the log about a lack of room.
const TOLD: Duration = Duration::from_secs(10);

/// The clients and services of a directory, and what it has refused since it began to listen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DirectoryStatistics {
    /// Connections at this moment.
    pub clients: usize,
    /// Services at this moment.
    pub services: usize,
    /// Services that were refused, since their user had its share, or no place was left.
    pub refused_for_room: u64,
    /// Services that were refused for another reason, such as a name that is taken.
    pub refused_otherwise: u64,
    /// Clients that were turned away at once, since services had all connections.
    pub turned_away: u64,
    /// Visitors that were not handed to their service, since it or others of its user had not read earlier visitors.
    pub visitors_refused: u64,
}

/// A lack of room.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lack {
    Service,
    Client,
    Visitor,
}

/// The running counts.
#[derive(Debug)]
pub(super) struct Counts {
    refused_for_room: u64,
    pub(super) refused_otherwise: u64,
    turned_away: u64,
    visitors_refused: u64,
    pause: LogPause,
}

impl Default for Counts {
    fn default() -> Self {
        let pause = LogPause::new(TOLD);
        Self { refused_for_room: 0, refused_otherwise: 0, turned_away: 0, visitors_refused: 0, pause }
    }
}

impl Counts {
    /// Counts a lack of room, for a process of this user, and tells the log once in a while.
    pub(super) fn lack(&mut self, lack: Lack, user: u32, reason: &str) {
        let (count, what) = match lack {
            Lack::Service => (&mut self.refused_for_room, "the directory has no room for a service"),
            Lack::Client => (&mut self.turned_away, "the directory turns a client away"),
            Lack::Visitor => (&mut self.visitors_refused, "the directory hands no visitor to a service"),
        };
        *count += 1;
        let count = *count;
        if self.pause.is_over(Some(Instant::now())) {
            tracing::warn!(user, reason, count, "{what}");
        } else {
            tracing::debug!(user, reason, count, "{what}");
        }
    }

    pub(super) fn statistics(&self, clients: usize, services: usize) -> DirectoryStatistics {
        let Self { refused_for_room, refused_otherwise, turned_away, visitors_refused, .. } = *self;
        DirectoryStatistics {
            clients,
            services,
            refused_for_room,
            refused_otherwise,
            turned_away,
            visitors_refused,
        }
    }
}
