//! Acceptance of clients, each of which is served by a task.

use super::{Handler, Stop};
use crate::Message;
use bertha::prelude::*;
use bertha::{Base, Error, ErrorKind, Incoming, Negotiated, Settings};
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The datapath of this build.
pub(super) type Datapath = bertha::DefaultDatapath;

/// Largest number of connections that a listener serves at a time. A further client takes the place of a silent
/// connection of the network that has the most, or is refused, as [`Settings::connections`] says.
const CONNECTIONS: usize = 10_000;

/// Largest number of clients whose tasks are under way: those of the connections, and tasks that are about to end.
const TASKS: u32 = u32::MAX >> 3;

/// A listener with the stack `S`.
pub struct Listening<S>
where
    Datapath: Runs<S>,
{
    incoming: Incoming<S, Datapath>,
}

impl<S> Listening<S>
where
    S: Negotiate + 'static,
    Datapath: Runs<S>,
{
    /// Listens at `addr`.
    ///
    /// # Errors
    /// [`Invalid`](bertha::ErrorKind::Invalid) if the address can't be used.
    pub async fn open(stack: S, addr: SocketAddr, settings: Settings) -> Result<Self, Error> {
        let listening = stack.listen(bertha::datapath(), addr).settings(bounded(settings));
        Ok(Self { incoming: listening.await? })
    }

    /// Returns the address at which the listener listens, with the port that the system chose.
    ///
    /// # Errors
    /// There are none over UDP.
    pub fn addr(&self) -> Result<SocketAddr, Error> {
        self.incoming.local_addr().ip("kvstore")
    }

    /// Serves every client until it is time to stop; then closes all connections and returns.
    pub async fn serve(mut self, handler: impl Handler, mut stop: Stop)
    where
        Datapath: Runs<S, Out: Connection<Data = Message>>,
    {
        // Each client holds a place until it has been served, by which the end of all is noticed.
        let places = Arc::new(Semaphore::new(TASKS as usize));
        let ends = stop.clone();
        let accepting = async {
            while let Ok(place) = places.clone().acquire_owned().await {
                let Some(client) = self.incoming.next().await else { break };
                bertha::spawn(converse(client, handler.clone(), ends.clone(), place));
            }
        };
        tokio::select! {
            () = accepting => tracing::error!("listening has failed; serving the clients that there are"),
            () = stop.wait() => {}
        }
        // The listener's handshakes end here; its connections go on without it.
        drop(self.incoming);
        // The semaphore is never closed, so the call does not fail.
        let _ = places.acquire_many(TASKS).await;
    }
}

/// Bounds the connections in the listener itself, which refuses clients by name where this end would let them wait.
fn bounded(settings: Settings) -> Settings {
    let connections = settings.connections.min(CONNECTIONS);
    settings.connections(connections)
}

async fn converse<C>(
    client: Negotiated<C>,
    handler: impl Handler,
    mut stop: Stop,
    _place: OwnedSemaphorePermit,
) where
    C: Connection<Data = Message>,
{
    let peer = client.base().peer_addr();
    tracing::info!(%peer, agreement = %client.explain(), "connected");
    let ended = tokio::select! {
        ended = handler.serve(&client) => Some(ended),
        () = stop.wait() => None,
    };
    match ended {
        // A client that is done closes its connection: nothing has happened.
        Some(reason) if reason.kind() == ErrorKind::Closed => tracing::debug!(%peer, %reason, "ended"),
        Some(reason) => tracing::info!(%peer, %reason, "ended"),
        None => match client.close().await {
            Ok(()) => tracing::info!(%peer, "closed"),
            Err(error) => tracing::info!(%peer, %error, "closing failed"),
        },
    }
}

impl<S> fmt::Debug for Listening<S>
where
    Datapath: Runs<S>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening").field("incoming", &self.incoming).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_waits_for_a_place_unheard() {
        assert_eq!(bounded(Settings::default().connections(usize::MAX)).connections, CONNECTIONS);
        assert_eq!(bounded(Settings::default().connections(7)).connections, 7);
        assert!(TASKS as usize > 1_000 * CONNECTIONS, "the listener's bound comes first");
    }
}
