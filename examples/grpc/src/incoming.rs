//! The clients of a listener or of a negotiated stack, in the form that a tonic server takes.

use crate::Io;
use bertha::core::Listener;
use bertha::{Chunk, Connection, Error, Incoming, Negotiate, Runs};
use futures_util::stream::{Stream, StreamExt, unfold};

/// Returns the clients of a listener for bytes. The stream ends with an error if the listener can't go on.
pub fn accepted<L: Listener<Chunk>>(listener: L) -> impl Stream<Item = Result<Io<L::Connection>, Error>> {
    unfold(Some(listener), async |listening| {
        let listener = listening?;
        match listener.accept().await {
            Ok(client) => Some((Ok(Io::new(client)), Some(listener))),
            Err(error) => Some((Err(error), None)),
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
    incoming.into_stream().filter_map(async |client| match client {
        Ok(client) => Some(Ok(Io::new(client))),
        Err(error) => {
            tracing::info!(%error, "refused a client");
            None
        }
    })
}
