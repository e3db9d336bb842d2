//! The times and bounds of rendezvous.

use crate::store::limits;
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
    /// upgrade is given up for a participant that has crashed. After an upgrade that was given up or refused, preferences that depend
    /// on the number of participants propose no other one for a lease, and for twice as long each time, up to 32 leases; `renews`
    /// waits for one.
    pub staging_timeout: Duration,
    /// How long to wait for each answer of the store.
    pub store_timeout: Duration,
    /// How long to wait altogether to be let in, which takes as long as an upgrade that is under way.
    pub join_timeout: Duration,
    /// How many participants a connection may have when this one joins.
    pub participants: usize,
    /// Whether to propose the stack in force again when whoever leads its round has gone. Connections always do.
    pub renews: bool,
    /// How long a change of stacks waits for what the old stack still has to deliver and does not come, and for another
    /// participant that is there and says nothing: for a datagram since the last one, or since its sender has gone.
    pub drain_timeout: Duration,
    /// How long building a stack may take, and finishing with one: `send`s under way, and draining its Chunnels.
    pub handover_timeout: Duration,
}

impl Default for RendezvousSettings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(5),
            staging_timeout: Duration::from_secs(15),
            store_timeout: Duration::from_secs(3),
            join_timeout: Duration::from_secs(30),
            participants: limits::PARTICIPANTS,
            renews: false,
            drain_timeout: Duration::from_millis(200),
            handover_timeout: Duration::from_secs(5),
        }
    }
}
