//! The times and bounds of rendezvous.

use crate::auth::SharedKey;
use crate::rendezvous::store::limits;
use crate::settings::Settings;
use bertha_core::guarantee;
use std::time::Duration;

/// The times and bounds of a participant. Participants may differ.
///
/// `lease` and `staging_timeout` run on the store's clock, all other times on this participant's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RendezvousSettings {
    /// Time for which a participant counts as present after its last renewal. It renews three times as often.
    /// Stores may round up to seconds.
    pub lease: Duration,
    /// Time that all participants together have to stage an upgrade that this participant proposes. It should
    /// be longer than a lease, or an upgrade is given up for a participant that has crashed. After an upgrade
    /// that was given up or refused, preferences that depend on the number of participants propose no other
    /// upgrade for a lease, and for twice as long each time, up to 32 leases; `renews` waits for one lease.
    pub staging_timeout: Duration,
    /// The time limit of each answer of the store.
    pub store_timeout: Duration,
    /// Time limit of joining, which takes as long as an upgrade that is under way.
    pub join_timeout: Duration,
    /// Number of participants, this one included, that a connection may have when this participant joins.
    pub participants: usize,
    /// True to propose the stack in force again when the leader of its round has gone. Connections always do.
    pub renews: bool,
    /// Time for which a change of stacks waits for missing messages of the old stack, since the last message
    /// arrived, or since their sender has gone.
    pub drain_timeout: Duration,
    /// Time limit of building a stack, of draining a stack, and of waiting for a participant that is there
    /// and does not change.
    pub handover_timeout: Duration,
    /// The guarantees that a change of stacks may lose without a request of this participant's application,
    /// whether a participant or a condition of a `select!` proposes the change. A change that would lose any
    /// other guarantee is refused, with the name of the guarantee. The default is the default of
    /// [`Settings::may_lose`]: guarantees of delivery, and none of security.
    pub may_lose: guarantee::Set,
    /// A secret that all participants share: messages of senders that do not have it are dropped and counted.
    /// Either all participants have the same key, or none has a key.
    ///
    /// The key protects against outsiders: any holder can speak for any participant. It does not encrypt. A
    /// message carries 20 bytes more.
    pub group_key: Option<SharedKey>,
}

bertha_core::setters!(RendezvousSettings {
    lease: Duration,
    staging_timeout: Duration,
    store_timeout: Duration,
    join_timeout: Duration,
    participants: usize,
    renews: bool,
    drain_timeout: Duration,
    handover_timeout: Duration,
    may_lose: guarantee::Set,
    group_key: Option<SharedKey>,
});

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
