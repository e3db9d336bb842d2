//! The stores through which participants agree, as a single type: a stack is compiled once for each service,
//! and not again for each store.

use bertha_core::{Error, ErrorKind};
use bertha_datapath_kernel::TokioRuntime;
use bertha_negotiation::rendezvous::{
    MemoryStore, Name, Outcome, RendezvousStore, Revision, Snapshot, Transaction, Watch,
};
use std::time::Duration;

/// A store.
pub(crate) enum Store {
    /// The memory of this process.
    Memory(MemoryStore<TokioRuntime>),
    #[cfg(feature = "redis")]
    Redis(Box<bertha_negotiation::rendezvous::RedisStore>),
    #[cfg(feature = "etcd")]
    Etcd(Box<bertha_negotiation::rendezvous::EtcdStore>),
}

impl Store {
    /// Returns the store at an address.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for any other address; [`Unavailable`](ErrorKind::Unavailable) without the feature.
    pub(crate) fn at(address: &str) -> Result<Self, Error> {
        match address.split_once("://").map(|(scheme, _)| scheme) {
            #[cfg(feature = "redis")]
            Some("redis" | "rediss") => {
                Ok(Self::Redis(Box::new(bertha_negotiation::rendezvous::RedisStore::new(address)?)))
            }
            #[cfg(feature = "etcd")]
            Some("etcd" | "etcds") => {
                Ok(Self::Etcd(Box::new(bertha_negotiation::rendezvous::EtcdStore::new(address)?)))
            }
            #[cfg(not(feature = "redis"))]
            Some("redis" | "rediss") => Err(built_without("redis")),
            #[cfg(not(feature = "etcd"))]
            Some("etcd" | "etcds") => Err(built_without("etcd")),
            _ => {
                let what = "the store has to be redis[s]://host:port or etcd[s]://host:port";
                Err(Error::new(ErrorKind::Invalid, what))
            }
        }
    }
}

/// Returns the error for an address that needs a feature.
pub(crate) fn built_without(feature: &str) -> Error {
    let what = format!("built without support for {feature}; build it with --features {feature}");
    Error::new(ErrorKind::Unavailable, what)
}

impl RendezvousStore for Store {
    type Watch = StoreWatch;

    async fn transact(&self, name: &Name, transaction: &Transaction) -> Result<Outcome, Error> {
        match self {
            Self::Memory(store) => store.transact(name, transaction).await,
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.transact(name, transaction).await,
            #[cfg(feature = "etcd")]
            Self::Etcd(store) => store.transact(name, transaction).await,
        }
    }

    async fn read(&self, name: &Name) -> Result<Snapshot, Error> {
        match self {
            Self::Memory(store) => store.read(name).await,
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.read(name).await,
            #[cfg(feature = "etcd")]
            Self::Etcd(store) => store.read(name).await,
        }
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Result<Option<Revision>, Error> {
        match self {
            Self::Memory(store) => store.renew(name, key, ttl).await,
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.renew(name, key, ttl).await,
            #[cfg(feature = "etcd")]
            Self::Etcd(store) => store.renew(name, key, ttl).await,
        }
    }

    async fn watch(&self, name: &Name) -> Result<StoreWatch, Error> {
        Ok(match self {
            Self::Memory(store) => StoreWatch::Memory(store.watch(name).await?),
            #[cfg(feature = "redis")]
            Self::Redis(store) => StoreWatch::Redis(store.watch(name).await?),
            #[cfg(feature = "etcd")]
            Self::Etcd(store) => StoreWatch::Etcd(store.watch(name).await?),
        })
    }

    async fn names(&self, limit: usize) -> Result<Vec<Name>, Error> {
        match self {
            Self::Memory(store) => store.names(limit).await,
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.names(limit).await,
            #[cfg(feature = "etcd")]
            Self::Etcd(store) => store.names(limit).await,
        }
    }

    fn address(&self) -> Option<String> {
        match self {
            Self::Memory(store) => store.address(),
            #[cfg(feature = "redis")]
            Self::Redis(store) => store.address(),
            #[cfg(feature = "etcd")]
            Self::Etcd(store) => store.address(),
        }
    }
}

/// A watch for changes in one of these stores.
pub(crate) enum StoreWatch {
    Memory(<MemoryStore<TokioRuntime> as RendezvousStore>::Watch),
    #[cfg(feature = "redis")]
    Redis(<bertha_negotiation::rendezvous::RedisStore as RendezvousStore>::Watch),
    #[cfg(feature = "etcd")]
    Etcd(<bertha_negotiation::rendezvous::EtcdStore as RendezvousStore>::Watch),
}

impl Watch for StoreWatch {
    async fn changed(&mut self) -> Result<Revision, Error> {
        match self {
            Self::Memory(watch) => watch.changed().await,
            #[cfg(feature = "redis")]
            Self::Redis(watch) => watch.changed().await,
            #[cfg(feature = "etcd")]
            Self::Etcd(watch) => watch.changed().await,
        }
    }
}
