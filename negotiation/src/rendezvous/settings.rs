//! The times and bounds of rendezvous.

use super::limits;
use std::time::Duration;

/// The times and bounds of a participant. Participants may differ.
///
/// `lease` and `staging_timeout` run on the store's clock. The others say how patient this participant is, on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RendezvousSettings {
    /// How long a participant counts as there after the store last heard of it. It says three times as often that it is.
    /// Stores may round up to seconds.
    pub lease: Duration,
    /// How long all participants together have to stage an upgrade that this one proposes. Longer than a lease, or an
    /// upgrade is given up for a participant that has crashed.
    pub staging_timeout: Duration,
    /// How long to wait for each answer of the store.
    pub store_timeout: Duration,
    /// How long to wait altogether to be let in, which takes as long as an upgrade that is under way.
    pub join_timeout: Duration,
    /// How many participants a connection may have when this one joins.
    pub participants: usize,
}

impl Default for RendezvousSettings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(5),
            staging_timeout: Duration::from_secs(15),
            store_timeout: Duration::from_secs(3),
            join_timeout: Duration::from_secs(30),
            participants: limits::PARTICIPANTS,
        }
    }
}
