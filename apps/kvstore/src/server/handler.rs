//! The handling of one connection.

use bertha::Error;
use bertha::prelude::*;

use crate::Message;

/// Deals with the connections of a listener, all of them on one thread.
pub trait Handler: Clone + 'static {
    /// Serves a connection until it ends, and says why it did.
    fn serve<C>(&self, connection: &C) -> impl Future<Output = Error>
    where
        C: Connection<Data = Message>;
}
