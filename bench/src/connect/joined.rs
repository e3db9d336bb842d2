//! Clients that join others through a store, by the public `rendezvous`.

use super::{Connect, Trial, failed, since, stack};
use crate::Error;
use bertha_core::{Connection, Runtime};
use bertha_datapath_kernel::{TokioRuntime, UdpMulticast};
use bertha_negotiation::rendezvous::{MultiEndpoint, Name, Rendezvous, RendezvousStore, RunsAmong};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A client that joins an existing participant, over an existing connection to the store.
pub(super) struct Client<S> {
    store: Arc<S>,
    name: Name,
    /// The other participant.
    _resident: Participant,
}

type Participant = MultiEndpoint<<UdpMulticast as RunsAmong<super::Layers>>::Out>;

async fn join<S: RendezvousStore>(store: Arc<S>, name: &Name) -> Result<Participant, Error> {
    // Loopback carries multicast; no other host receives it.
    let group = UdpMulticast::new(SocketAddrV4::new(Ipv4Addr::new(239, 255, 7, 42), 47_042));
    let group = group.interface(Ipv4Addr::LOCALHOST);
    stack().rendezvous(group, store, name.clone()).await.map_err(failed)
}

impl<S: RendezvousStore> Client<S> {
    pub(super) async fn new(store: S) -> Result<Self, Error> {
        let name = Name::new(format!("bench-{:016x}", TokioRuntime.random())).map_err(failed)?;
        let store = Arc::new(store);
        let resident = join(store.clone(), &name).await?;
        Ok(Self { store, name, _resident: resident })
    }
}

/// Lets the other participant handle a join or a leave, without leaving the core to other programs.
async fn settle() {
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(2) {
        tokio::task::yield_now().await;
    }
}

impl<S: RendezvousStore> Connect for Client<S> {
    async fn connect(&mut self) -> Result<Trial, Error> {
        let started = Instant::now();
        let participant = join(self.store.clone(), &self.name).await?;
        let set_up = since(started);
        settle().await;
        let started = Instant::now();
        self.store.read(&self.name).await.map_err(failed)?;
        let round_trip = since(started);
        participant.close().await.map_err(failed)?;
        settle().await;
        Ok(Trial { set_up, round_trip })
    }
}
