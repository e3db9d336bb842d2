//! The duty to bring a handshake to its end.

use super::Shared;
use bertha_core::Connection;
use std::ops::Deref;
use std::sync::Arc;

/// A handshake's hold on the connection. If it is dropped before the end is known, since a Chunnel has panicked or the runtime has ended,
/// the calls that wait for the end get an error.
pub(crate) struct HandshakeGuard<C: Connection>(Arc<Shared<C>>);

impl<C: Connection> HandshakeGuard<C> {
    pub(crate) fn new(shared: Arc<Shared<C>>) -> Self {
        Self(shared)
    }
}

impl<C: Connection> Deref for HandshakeGuard<C> {
    type Target = Shared<C>;

    fn deref(&self) -> &Shared<C> {
        &self.0
    }
}

impl<C: Connection> Drop for HandshakeGuard<C> {
    fn drop(&mut self) {
        self.0.abandoned();
    }
}
