//! One stack of a connection.

use super::seats::Seats;
use super::sync::{Arc, AtomicBool, Mutex, MutexGuard, Ordering};
use std::sync::PoisonError;

/// A stack.
pub struct Round<C> {
    pub connection: C,
    /// Whether nothing more will arrive at the bottom of the stack, so that an error from it means that it is empty.
    is_over: AtomicBool,
    is_empty: AtomicBool,
}

impl<C> Round<C> {
    pub fn new(connection: C) -> Arc<Self> {
        let (is_over, is_empty) = Default::default();
        Arc::new(Self { connection, is_over, is_empty })
    }

    /// Nothing more will arrive at the bottom of the stack.
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Whether a reception found that it holds nothing back any more, after its [`end`](Self::end).
    pub fn is_empty(&self) -> bool {
        self.is_empty.load(Ordering::Acquire)
    }

    /// A reception failed. Whether that is because the round is over; if so, receivers are asked to leave it.
    #[cold]
    pub(super) fn is_left(&self, receivers: &Seats<Self>) -> bool {
        if !self.is_over.load(Ordering::Acquire) {
            return false;
        }
        self.is_empty.store(true, Ordering::Release);
        receivers.close();
        true
    }
}

/// The rounds of a connection: in force for sending, and for receiving.
pub struct Rounds<C> {
    /// Its total is of messages that the application sent, or may have sent: it may cancel a `send` that waits.
    pub sending: Seats<Round<C>>,
    pub receiving: Seats<Round<C>>,
    /// The one in which this end sends.
    newest: Mutex<Arc<Round<C>>>,
}

impl<C> Rounds<C> {
    pub fn new(first: &Arc<Round<C>>) -> Self {
        Self { sending: Seats::new(first), receiving: Seats::new(first), newest: Mutex::new(first.clone()) }
    }

    pub fn newest(&self) -> MutexGuard<'_, Arc<Round<C>>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
