//! Accepting clients.

use super::format::RespFormat;
use super::session::{Counters, Session};
use super::{RespAddr, Routes};
use crate::shared_store::SharedStore;
use crate::stop::Stop;
use bertha::chunnels::framing::Framed;
use bertha::kernel::{Tcp, TcpListener, UnixStream, UnixStreamListener};
use bertha::prelude::*;
use bertha::{Addr, Base, Chunk, Datapath, Error};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most clients that one listener serves at a time; further ones wait.
const CLIENTS: u32 = 10_000;

/// A listener for clients.
#[derive(Debug)]
pub(crate) enum Front {
    Tcp(TcpListener<Chunk>),
    Unix(UnixStreamListener<Chunk>),
    #[cfg(feature = "dpdk")]
    Dpdk(bertha_datapath_dpdk::TcpListener<Chunk>),
}

impl Front {
    /// Listens. Several shards may do so at one address of TCP, where the kernel spreads clients among them.
    ///
    /// # Errors
    /// Those of the datapath; [`Unavailable`](bertha::ErrorKind::Unavailable) for DPDK if it was not built in.
    async fn open(addr: &RespAddr) -> Result<Self, Error> {
        match addr {
            RespAddr::Kernel(addr @ Addr::Unix(_)) => {
                Ok(Self::Unix(UnixStream::new().bytes().listen(addr.clone()).await?))
            }
            RespAddr::Kernel(addr) => {
                Ok(Self::Tcp(Tcp::new().reuse_port().bytes().listen(addr.clone()).await?))
            }
            #[cfg(feature = "dpdk")]
            RespAddr::Dpdk(addr) => {
                Ok(Self::Dpdk(bertha_datapath_dpdk::Tcp::new().bytes().listen(addr.clone()).await?))
            }
            #[cfg(not(feature = "dpdk"))]
            RespAddr::Dpdk(_) => {
                let what = "built without DPDK; build it with --features dpdk";
                Err(Error::new(bertha::ErrorKind::Unavailable, what))
            }
        }
    }

    /// Where it listens, with the port that the system chose.
    fn addr(&self) -> RespAddr {
        use bertha::core::Listener;
        match self {
            Self::Tcp(listener) => RespAddr::Kernel(listener.local_addr()),
            Self::Unix(listener) => RespAddr::Kernel(listener.local_addr()),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(listener) => RespAddr::Dpdk(listener.local_addr()),
        }
    }

    /// Whether other shards may listen at the same address.
    fn is_shared(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    async fn serve(self, clients: Clients) {
        match self {
            Self::Tcp(listener) => clients.serve(listener).await,
            Self::Unix(listener) => clients.serve(listener).await,
            #[cfg(feature = "dpdk")]
            Self::Dpdk(listener) => clients.serve(listener).await,
        }
    }
}

/// The listeners of one shard.
#[derive(Debug, Default)]
pub(crate) struct Fronts(Vec<Front>);

impl Fronts {
    /// Listens at all of these addresses.
    ///
    /// # Errors
    /// As for one of them.
    pub(crate) async fn open(addrs: &[RespAddr]) -> Result<Self, Error> {
        let mut fronts = Vec::new();
        for addr in addrs {
            fronts.push(Front::open(addr).await?);
        }
        Ok(Self(fronts))
    }

    /// Where they listen.
    pub(crate) fn addrs(&self) -> Vec<RespAddr> {
        self.0.iter().map(Front::addr).collect()
    }

    /// Where further shards can listen too.
    pub(crate) fn shared(&self) -> Vec<RespAddr> {
        self.0.iter().filter(|front| front.is_shared()).map(Front::addr).collect()
    }

    /// Serves all clients until it is time to stop; then closes their connections and returns.
    pub(crate) async fn serve(self, clients: Clients) {
        let (count, places) = (self.0.len() as u32, Arc::new(Semaphore::new(self.0.len())));
        for front in self.0 {
            // Each has a place for as long as it serves. Nobody closes the semaphore, so this does not fail.
            let (clients, place) = (clients.clone(), places.clone().acquire_owned().await);
            bertha::spawn(async move {
                front.serve(clients).await;
                drop(place);
            });
        }
        let _ = places.acquire_many(count).await;
    }
}

/// The means to serve clients.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    pub(crate) store: SharedStore,
    pub(crate) routes: Routes,
    pub(crate) counters: Arc<Counters>,
    pub(crate) stop: Stop,
}

impl Clients {
    async fn serve(mut self, listener: impl bertha::core::Listener<Chunk>) {
        // Each client has a place until it is served.
        let places = Arc::new(Semaphore::new(CLIENTS as usize));
        let one = self.clone();
        let accepting = async {
            loop {
                // Nobody closes the semaphore, so there is always a place in the end.
                let place = places.clone().acquire_owned().await.ok();
                match listener.accept().await {
                    Ok(client) => bertha::spawn(one.clone().converse(client, place)),
                    Err(error) => return error,
                }
            }
        };
        tokio::select! {
            error = accepting => tracing::error!(%error, "listening has failed; serving the clients that there are"),
            () = self.stop.wait() => {}
        }
        drop(listener);
        let _ = places.acquire_many(CLIENTS).await;
    }

    async fn converse(mut self, client: impl Connection<Data = Chunk>, _place: Option<OwnedSemaphorePermit>) {
        let peer = client.base().peer_addr();
        let connection = match make_stack!(Framed::new(RespFormat)).wrap(client).await {
            Ok(connection) => connection,
            Err(error) => return tracing::info!(%peer, %error, "refused a client"),
        };
        // Relaxed: a number by itself.
        self.counters.clients.fetch_add(1, Relaxed);
        tracing::info!(%peer, "connected");
        let session = Session::new(&self.store, &self.routes, &self.counters);
        let ended = tokio::select! {
            ended = session.serve(&connection) => Some(ended),
            () = self.stop.wait() => None,
        };
        self.counters.clients.fetch_sub(1, Relaxed);
        let closed = connection.close().await;
        tracing::info!(%peer, ended = ended.map(tracing::field::display), failed = closed.err().map(tracing::field::display), "closed");
    }
}
