//! The handling of a connection.

use bertha::Error;
use bertha::prelude::*;

use crate::Message;

/// A handler of a listener's connections, each in a task of its own.
pub trait Handler: Clone + Send + Sync + 'static {
    /// Serves a connection until it ends, and returns the reason of its end.
    fn serve<C>(&self, connection: &C) -> impl Future<Output = Error> + Send
    where
        C: Connection<Data = Message>;
}
