//! The clients of a listener or of a negotiated stack, in the form that a tonic server takes.

use crate::Io;
use bertha::core::Listener;
use bertha::{Chunk, Connection, Error, ErrorKind, Incoming, Negotiate, Runs};
use futures_util::stream::{Stream, StreamExt, unfold};
use std::time::Duration;

/// The pause after which accepting is tried again while the process has no descriptor left.
const PAUSE: Duration = Duration::from_millis(20);

/// Returns the clients of a listener for bytes. The stream ends with an error if the listener can't go on.
pub fn accepted<L: Listener<Chunk>>(listener: L) -> impl Stream<Item = Result<Io<L::Connection>, Error>> {
    unfold(Some(listener), async |listening| {
        let listener = listening?;
        loop {
            match listener.accept().await {
                Ok(client) => return Some((Ok(Io::new(client)), Some(listener))),
                Err(error) if error.kind() == ErrorKind::Exhausted => bertha::sleep(PAUSE).await,
                Err(error) => return Some((Err(error), None)),
            }
        }
    })
}

/// Returns the clients that have agreed on a stack. A client that has not is left out.
pub fn agreed<S, D, C>(
    incoming: Incoming<S, D>,
) -> impl Stream<Item = Result<Io<bertha::Negotiated<C>>, Error>>
where
    S: Negotiate + 'static,
    D: Runs<S, Out = C>,
    C: Connection<Data = Chunk>,
{
    incoming.into_stream().map(|client| Ok(Io::new(client)))
}
