//! Listening for clients.

mod unix_path;

use super::{Clients, RespAddr};
use bertha::kernel::{Tcp, TcpListener, UnixStreamListener};
use bertha::{Addr, Chunk, Datapath, Error};
use tokio::sync::mpsc;

/// The other shards with which the listeners of a shard share their addresses of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// No other shard has the port.
    Alone,
    /// Other shards of this store will share the port with this first shard: no other program may have it.
    First,
    /// Earlier shards have the port already.
    Further,
}

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
    /// The errors of the datapath; [`Unavailable`](bertha::ErrorKind::Unavailable) for DPDK if it was not
    /// built in.
    async fn open(addr: &RespAddr, sharing: Sharing) -> Result<Self, Error> {
        match addr {
            RespAddr::Kernel(addr @ Addr::Unix(path)) => Ok(Self::Unix(unix_path::listen(addr, path).await?)),
            RespAddr::Kernel(addr) => Ok(Self::Tcp(tcp(addr, sharing).await?)),
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

    /// The address at which it listens, with the port that the system chose.
    fn addr(&self) -> RespAddr {
        use bertha::core::Listener;
        match self {
            Self::Tcp(listener) => RespAddr::Kernel(listener.local_addr()),
            Self::Unix(listener) => RespAddr::Kernel(listener.local_addr()),
            #[cfg(feature = "dpdk")]
            Self::Dpdk(listener) => RespAddr::Dpdk(listener.local_addr()),
        }
    }

    /// Returns true if other shards may listen at its address.
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

async fn tcp(addr: &Addr, sharing: Sharing) -> Result<TcpListener<Chunk>, Error> {
    if sharing == Sharing::First {
        // The kernel lets any store of this user join an address that is shared, so this one asks alone first.
        Tcp::new().bytes().listen(addr.clone()).await?;
    }
    let tcp = if sharing == Sharing::Alone { Tcp::new() } else { Tcp::new().reuse_port() };
    tcp.bytes().listen(addr.clone()).await
}

/// The listeners of one shard.
#[derive(Debug, Default)]
pub(crate) struct Fronts(Vec<Front>);

impl Fronts {
    /// Listens at all of these addresses.
    ///
    /// # Errors
    /// The errors of a single front.
    pub(crate) async fn open(addrs: &[RespAddr], sharing: Sharing) -> Result<Self, Error> {
        let mut fronts = Vec::new();
        for addr in addrs {
            fronts.push(Front::open(addr, sharing).await?);
        }
        Ok(Self(fronts))
    }

    /// The addresses at which they listen.
    pub(crate) fn addrs(&self) -> Vec<RespAddr> {
        self.0.iter().map(Front::addr).collect()
    }

    /// The addresses at which further shards can listen too.
    pub(crate) fn shared(&self) -> Vec<RespAddr> {
        self.0.iter().filter(|front| front.is_shared()).map(Front::addr).collect()
    }

    /// Serves all clients until it is time to stop; then closes their connections and returns.
    pub(crate) async fn serve(self, clients: Clients) {
        let (working, mut done) = mpsc::channel::<()>(1);
        for front in self.0 {
            let clients = clients.clone();
            let working = working.clone();
            bertha::spawn(async move {
                front.serve(clients).await;
                drop(working);
            });
        }
        drop(working);
        // Nothing is sent; the channel ends with the last of them.
        done.recv().await;
    }
}
