//! The guard that a handshake has an outcome.

use super::EarlyState;
use bertha_core::Connection;
use std::ops::Deref;
use std::sync::Arc;

/// A handshake's reference to the connection. If it is dropped before the outcome is known, since a Chunnel
/// has panicked or the runtime has ended, the waiting calls get an error.
pub(crate) struct HandshakeGuard<C: Connection>(Arc<EarlyState<C>>);

impl<C: Connection> HandshakeGuard<C> {
    pub(crate) fn new(shared: Arc<EarlyState<C>>) -> Self {
        Self(shared)
    }
}

impl<C: Connection> Deref for HandshakeGuard<C> {
    type Target = EarlyState<C>;

    fn deref(&self) -> &EarlyState<C> {
        &self.0
    }
}

impl<C: Connection> Drop for HandshakeGuard<C> {
    fn drop(&mut self) {
        self.0.abandoned();
    }
}
