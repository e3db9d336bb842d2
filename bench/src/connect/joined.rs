//! Clients that join others through a store, and then send.

use super::{Connect, Trial, bare, echo, failed, since, stack};
use crate::Error;
use bertha_core::{Addr, Datapath, Runtime, Wrap};
use bertha_datapath_kernel::{TokioRuntime, Udp};
use bertha_rendezvous::{Event, Name, Participant, RendezvousSettings, RendezvousStore};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Joins a participant that is there already, over a connection to the store that is there as well, and gets its echo from a
/// server that knows nothing of it: the stack is agreed on by then.
pub(super) struct Client<S> {
    store: Arc<S>,
    name: Name,
    server: Addr,
}

type Joined = Participant<TokioRuntime>;

async fn join<S: RendezvousStore>(store: Arc<S>, name: &Name) -> Result<Joined, Error> {
    let settings = RendezvousSettings::default();
    let joined = Participant::join(store, name.clone(), &stack(), TokioRuntime, settings).await;
    joined.map_err(failed)
}

impl<S: RendezvousStore> Client<S> {
    pub(super) async fn new(store: S) -> Result<Self, Error> {
        let name = Name::new(format!("bench-{:016x}", TokioRuntime.random())).map_err(failed)?;
        let (store, server) = (Arc::new(store), bare::serve().await?.into());
        let mut resident = join(store.clone(), &name).await?;
        tokio::spawn(async move {
            while let Some(event) = resident.next().await {
                if let Event::Stage { round, .. } = event {
                    let _ = resident.staged(round).await;
                }
            }
        });
        Ok(Self { store, name, server })
    }
}

/// Lets others do what they do about somebody who comes or goes, without leaving the core to its other tenants.
async fn others() {
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(2) {
        tokio::task::yield_now().await;
    }
}

impl<S: RendezvousStore> Connect for Client<S> {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let started = Instant::now();
        let participant = join(self.store.clone(), &self.name).await?;
        let base = Udp::new().connect(self.server.clone()).await.map_err(failed)?;
        let connection = stack().wrap(base).await.map_err(failed)?;
        echo(&connection).await.map_err(failed)?;
        let set_up = since(started);
        others().await;
        let started = Instant::now();
        self.store.read(&self.name).await.map_err(failed)?;
        let round_trip = since(started);
        participant.leave().await.map_err(failed)?;
        others().await;
        Ok(Trial { set_up, round_trip })
    }
}
