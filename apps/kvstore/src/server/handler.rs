//! The handling of one connection.

use bertha::Error;
use bertha::prelude::*;

use crate::Message;

/// Deals with the connections of a listener, each in a task of its own.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Serves a connection until it ends, and says why it did.
    fn serve<C>(&self, connection: &C) -> impl Future<Output = Error> + Send
    where
        C: Connection<Data = Message>;
}
