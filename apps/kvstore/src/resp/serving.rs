//! Accepting clients and serving each with a task.

use super::clients::{Client, Watched};
use super::format::RespFormat;
use super::session::Session;
use super::{RespShared, Routes, descriptors};
use crate::shared_store::SharedStore;
use crate::stop::Stop;
use bertha::chunnels::framing::Framed;
use bertha::core::Network;
use bertha::prelude::*;
use bertha::{Addr, Base, Chunk, Error, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Longest time of a close. Replies have gone out before, unless the client does not read them.
const CLOSING: Duration = Duration::from_millis(300);

/// Time after which a listener that found no descriptor tries again, though no client has gone: what took the
/// descriptors may not be a client.
const PAUSE: Duration = Duration::from_millis(10);

/// The means to serve clients. All shards share the places, the memory and the counters.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    pub(crate) store: SharedStore,
    pub(crate) routes: Routes,
    pub(crate) shared: RespShared,
    pub(crate) stop: Stop,
}

impl Clients {
    /// Serves all clients of a listener until it is time to stop; then closes their connections and returns.
    pub(super) async fn serve(mut self, listener: impl bertha::core::Listener<Chunk>) {
        let (working, mut done) = mpsc::channel::<()>(1);
        let one = self.clone();
        let accepting = async {
            loop {
                let client = match listener.accept().await {
                    Ok(client) => client,
                    // The process has no descriptor left: a client that is idle has to go.
                    Err(error) if error.kind() == ErrorKind::Exhausted => {
                        one.shared.places.wait_for_descriptor(Instant::now(), PAUSE).await;
                        continue;
                    }
                    Err(error) => return error,
                };
                while let Some(until) = one.shared.places.waits_until(Instant::now()) {
                    bertha::sleep(until.saturating_duration_since(Instant::now())).await;
                }
                let now = Instant::now();
                let place = one.shared.places.enter(Network::of(&client.base().peer_addr()), now);
                // Makes room for the next client, who would wait without a descriptor.
                if !descriptors::is_one_free() {
                    one.shared.places.free_descriptor(now);
                }
                let one = one.clone();
                let working = working.clone();
                bertha::spawn(async move {
                    one.converse(client, place.client()).await;
                    drop((place, working));
                });
            }
        };
        tokio::select! {
            error = accepting => tracing::error!(%error, "listening has failed; serving the clients that there are"),
            () = self.stop.wait() => {}
        }
        drop((listener, working));
        // Nothing is sent; the channel ends with the last client.
        done.recv().await;
    }

    async fn converse(mut self, connection: impl Connection<Data = Chunk>, client: &Arc<Client>) {
        let peer = connection.base().peer_addr();
        let format = RespFormat::new(client.clone(), self.shared.unfinished.clone());
        let connection = Watched::new(connection, client.clone());
        let connection = match make_stack!(Framed::new(format)).wrap(connection).await {
            Ok(connection) => connection,
            Err(error) => return tracing::info!(%peer, %error, "refused a client"),
        };
        self.shared.counters.connected();
        tracing::info!(%peer, id = client.id(), "connected");
        let session = Session::new(&self.store, &self.routes, &self.shared, client);
        let ended = tokio::select! {
            ended = session.serve(&connection) => Some(ended),
            () = client.ended() => None,
            () = self.stop.wait() => None,
        };
        self.shared.counters.disconnected();
        if let Some(ending) = client.ending() {
            // Whatever is still unsent is for a client that does not read, or has lost its place.
            return self.shared.tell(&peer, ending);
        }
        let closed = tokio::select! {
            closed = connection.close() => closed.err(),
            () = bertha::sleep(CLOSING) => None,
        };
        tell_closed(&peer, ended, closed);
    }
}

fn tell_closed(peer: &Addr, ended: Option<Error>, failed: Option<Error>) {
    let ended = ended.map(tracing::field::display);
    tracing::info!(%peer, ended, failed = failed.map(tracing::field::display), "closed");
}
