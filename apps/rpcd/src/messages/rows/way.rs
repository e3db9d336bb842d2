//! The way of a message whose rows are left in the heap of its sender.

use bertha_core::{Connection, Error, ErrorKind, Gather, Gathered};

/// A way of messages with rows through a connection.
pub(crate) trait Way<C>: Send + Sync {
    /// True if the connection takes messages whose rows were left.
    const TAKES_ROWS: bool;

    /// Sends a message.
    fn send(&self, connection: &C, message: Gathered) -> impl Future<Output = Result<(), Error>> + Send;
}

/// The way through a connection that has to have messages whole, as one of TLS, or that of an application.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whole;

/// The way through a connection whose bytes go to the system as they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InParts;

impl<C: Connection> Way<C> for Whole {
    const TAKES_ROWS: bool = false;

    /// Fails: no message leaves rows.
    async fn send(&self, _: &C, _: Gathered) -> Result<(), Error> {
        Err(Error::new(ErrorKind::Invalid, "the connection takes whole messages alone"))
    }
}

impl<C: Gather> Way<C> for InParts {
    const TAKES_ROWS: bool = true;

    fn send(&self, connection: &C, message: Gathered) -> impl Future<Output = Result<(), Error>> + Send {
        connection.send_gathered(message)
    }
}
