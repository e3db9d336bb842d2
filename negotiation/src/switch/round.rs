//! One stack of a connection.

use super::seats::{Seats, Tally};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A stack, and what went through it.
pub(super) struct Round<C> {
    pub(super) connection: C,
    /// Messages that the application sent, or may have sent: it may cancel a `send` that waits.
    pub(super) sent: Tally,
    /// Messages that it received.
    pub(super) received: Tally,
}

impl<C> Round<C> {
    pub(super) fn new(connection: C) -> Arc<Self> {
        Arc::new(Self { connection, sent: Tally::default(), received: Tally::default() })
    }
}

/// The rounds of a connection: in force for sending, and for receiving.
pub(super) struct Rounds<C> {
    pub(super) sending: Seats<Round<C>>,
    pub(super) receiving: Seats<Round<C>>,
    /// The one in which this end sends.
    newest: Mutex<Arc<Round<C>>>,
}

impl<C> Rounds<C> {
    pub(super) fn new(first: &Arc<Round<C>>) -> Self {
        Self { sending: Seats::new(first), receiving: Seats::new(first), newest: Mutex::new(first.clone()) }
    }

    pub(super) fn newest(&self) -> MutexGuard<'_, Arc<Round<C>>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
