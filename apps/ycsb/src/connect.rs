//! The connection to the store.

use bertha::prelude::*;
use bertha::{Addr, Base, DefaultDatapath, Error, ErrorKind, Negotiated, Runtime, Settings};
use bertha_kvstore::Message;
use parking_lot::Mutex;
use std::time::Duration;

use crate::driver::{Port, PortError};
use crate::report;

pub use bertha_kvstore::Sharding;

/// The pause after an error that the connection survives.
const PAUSE: Duration = Duration::from_millis(1);

/// A connection to the store, with whichever stack was negotiated.
#[derive(Debug)]
pub struct ToStore<C> {
    connection: Negotiated<C>,
    /// The last error that the connection has survived.
    trouble: Mutex<Option<Error>>,
}

/// Opens a connection and negotiates its stack.
///
/// # Errors
/// Errors of [`Negotiate::connect`].
pub async fn connect<S>(
    stack: &S,
    server: Addr,
    settings: Settings,
) -> Result<ToStore<<DefaultDatapath as Runs<S>>::Out>, Error>
where
    S: Negotiate,
    DefaultDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let connection = stack.connect(bertha::datapath(), server).settings(settings).await?;
    Ok(ToStore { connection, trouble: Mutex::new(None) })
}

impl<C: Connection> ToStore<C> {
    /// Returns the outcome of the negotiation.
    pub fn negotiated(&self) -> report::Negotiated {
        let agreement = self.connection.explain();
        let chunnels: Vec<_> = agreement.chunnels().collect();
        let reason = match agreement.reasons() {
            "" => "the first choice of both ends".to_owned(),
            reasons => format!("passed over: {reasons}"),
        };
        report::Negotiated { stack: chunnels.join(" / "), reason }
    }
}

impl<C: Connection<Data = Message>> Port for ToStore<C> {
    type Runtime = <C::Base as Base>::Runtime;

    fn runtime(&self) -> &Self::Runtime {
        self.connection.base().runtime()
    }

    fn room(&self) -> usize {
        self.connection.mtu().saturating_sub(self.connection.base().reserved())
    }

    async fn send_batch(&self, messages: &mut Vec<Message>) -> Result<(), PortError> {
        let mut messages = messages.drain(..);
        loop {
            let before = messages.len();
            match self.connection.send_batch(&mut messages).await {
                Ok(()) => return Ok(()),
                Err(error) if !error.ends_connection() => {
                    tracing::debug!(%error, "lost a request");
                    *self.trouble.lock() = Some(error);
                    if messages.len() == before {
                        return Ok(());
                    }
                }
                Err(error) => return Err(ended(error)),
            }
        }
    }

    async fn recv_batch(&self, into: &mut Vec<Message>, limit: usize) -> Result<usize, PortError> {
        loop {
            match self.connection.recv_batch(into, limit).await {
                Err(error) if !error.ends_connection() => {
                    tracing::debug!(%error, "the store can't be heard for a moment");
                    *self.trouble.lock() = Some(error);
                    let runtime = self.runtime();
                    runtime.sleep_until(runtime.now() + PAUSE).await;
                }
                received => return received.map_err(ended),
            }
        }
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.lock().as_ref().map(|error| report::chain(error))
    }

    async fn close(&self) {
        if let Err(error) = self.connection.close().await {
            tracing::debug!(%error, "closing failed");
        }
    }
}

#[cold]
fn ended(error: Error) -> PortError {
    match error.kind() {
        ErrorKind::Closed => PortError::Closed,
        _ => PortError::Failed(Box::new(error)),
    }
}
