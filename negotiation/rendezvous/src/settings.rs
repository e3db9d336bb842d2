//! The times and bounds of rendezvous.

use crate::store::limits;
use bertha_core::guarantee;
use bertha_negotiation::{Settings, SharedKey};
use std::time::Duration;

/// The times and bounds of a participant. Participants may differ.
///
/// `lease` and `staging_timeout` run on the store's clock, the others on this participant's own.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RendezvousSettings {
    /// The time for which a participant counts as there after its last renewal. It renews three times as often.
    /// Stores may round up to seconds.
    pub lease: Duration,
    /// The time that all participants together have to stage an upgrade that this one proposes. It should be longer than a lease, or an
    /// upgrade is given up for a participant that has crashed. After an upgrade that was given up or refused, preferences that depend
    /// on the number of participants propose no other one for a lease, and for twice as long each time, up to 32 leases; `renews`
    /// waits for one.
    pub staging_timeout: Duration,
    /// The time limit of each answer of the store.
    pub store_timeout: Duration,
    /// The time limit of joining, which takes as long as an upgrade that is under way.
    pub join_timeout: Duration,
    /// The number of participants, with this one, that a connection may have when it joins.
    pub participants: usize,
    /// Whether to propose the stack in force again when the leader of its round has gone. Connections always do.
    pub renews: bool,
    /// The time for which a change of stacks waits for missing messages of the old stack, since the last one came, or since their
    /// sender has gone.
    pub drain_timeout: Duration,
    /// The time limit of building a stack, of draining one, and of waiting for a participant that is there and does not change.
    pub handover_timeout: Duration,
    /// The guarantees that a change of stacks may lose without a word of this participant's application, whichever participant proposes it,
    /// or a condition of a `select!` does. A change that would lose another one is refused with its name. By default as
    /// in [`Settings::may_lose`]: delivery, and nothing of security.
    pub may_lose: guarantee::Set,
    /// A secret that all participants share: messages of senders that do not have it are dropped and counted. All participants have the
    /// same, or none has one.
    ///
    /// It protects against outsiders: whoever has it can speak for any participant. It does not encrypt. A message carries 20 bytes more.
    pub group_key: Option<SharedKey>,
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
            may_lose: Settings::default().may_lose,
            group_key: None,
        }
    }
}
