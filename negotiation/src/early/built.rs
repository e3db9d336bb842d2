//! A stack over a link, built before or after the server's answer.

use crate::Session;
use crate::handshake::CurrentAgreement;
use crate::observing::EntryGuard;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A stack over a link.
pub(super) struct Built<C> {
    /// Dropped before the connection.
    pub(super) _entry: EntryGuard,
    pub(super) connection: C,
    /// The current agreement.
    pub(super) agreement: Arc<CurrentAgreement>,
    /// The number of messages that the link has dropped.
    pub(super) dropped: Arc<AtomicU64>,
    /// The session that has the counters of the stack's Chunnels.
    pub(super) session: Arc<Session>,
}
