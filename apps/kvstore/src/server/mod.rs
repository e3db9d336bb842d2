//! The running store: a router and its shards.

mod figures;
mod handler;
mod kernel;
mod listening;
mod router;
mod scans;
mod shard;
mod siblings;
mod starting;
mod thread;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use bertha::chunnels::{LocalShards, ShardMap};
use bertha::{Addr, Error, ErrorKind};
use bertha_program::tls::Encryption;

use crate::resp::{self, RespAddr, Routes};
use crate::{Capacity, Sharding, shard_addrs, shard_map};
use kernel::KernelShards;
use router::Local;
use shard::Inlets;
use siblings::{SiblingEnd, Siblings};
use starting::{RespEnds, ShardSettings, start_shard};
use thread::Thread;

pub use crate::stop::{Stop, Stopper};
pub use figures::Figures;
pub use handler::Handler;
pub use listening::Listening;
pub use router::{Router, Routing};
pub use shard::Shard;

/// Number of requests of a shard, and of replies of a client, that may wait between the router and a shard.
const QUEUE: usize = 1024;

/// The settings of a [`Server`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Address at which the router listens. With port 0 the system chooses the ports of the router and of its
    /// shards.
    pub addr: SocketAddr,
    /// Address by which clients reach the shards, if it isn't the router's. It is needed if the router
    /// listens on all addresses of the host.
    pub advertise: Option<IpAddr>,
    /// The shards behind the router.
    pub shards: Shards,
    /// The place where requests may be routed.
    pub sharding: Sharding,
    /// The way in which the router finds the shard of a request, if the shards are elsewhere.
    pub routing: Routing,
    /// Capacity of each local shard.
    pub capacity: Capacity,
    /// TLS with clients, and if they have to use it; `None` means no TLS.
    pub encryption: Option<Encryption>,
    /// Addresses for clients that speak the protocol of Redis, without encryption. They see the records of
    /// all other clients.
    pub resp: Vec<RespAddr>,
    /// The settings of serving clients of Redis.
    pub resp_settings: resp::Settings,
}

/// The shards behind a router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shards {
    /// Threads of this process in this number, on the ports that follow the router's.
    Local(u16),
    /// Servers elsewhere, each started by [`Server::start_shard`].
    Remote(Vec<Addr>),
}

impl Default for Options {
    /// Returns a single local shard, on ports of the loopback interface that the system chooses.
    fn default() -> Self {
        Self {
            addr: (Ipv4Addr::LOCALHOST, 0).into(),
            advertise: None,
            shards: Shards::Local(1),
            sharding: Sharding::Either,
            routing: Routing::default(),
            capacity: Capacity::default(),
            encryption: None,
            resp: Vec::new(),
            resp_settings: resp::Settings::default(),
        }
    }
}

/// A running store. Dropping it closes its connections and waits for its threads, as [`stop`](Self::stop) does.
pub struct Server {
    addr: SocketAddr,
    resp: Vec<RespAddr>,
    map: ShardMap,
    stopper: Stopper,
    threads: Vec<Thread>,
    figures: Figures,
}

impl Server {
    /// Starts the shards and then the router; all of them listen when this returns. With clients that speak RESP, the process's limit of open
    /// files is raised as far as it may be.
    ///
    /// The threads inherit the caller's processor affinity. The call blocks, so a task of Caladan's runtime
    /// must not make it.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if an address can't be used, the shards make no map, or clients that speak RESP can't be served
    /// as the other options say; [`AddrInUse`](ErrorKind::AddrInUse) if another server listens there; and the error of the system if it can't start threads.
    pub fn start(options: Options) -> Result<Self, Error> {
        let stopper = Stopper::new();
        let mut resp = options.resp_ends()?;
        let (local, mut queues) = match &options.shards {
            Shards::Local(count) => {
                let (local, queues) = LocalShards::new((*count).into(), QUEUE);
                (Some(local), queues)
            }
            Shards::Remote(_) => (None, Vec::new()),
        };
        if matches!(options.sharding, Sharding::Client | Sharding::Kernel) {
            queues.clear();
        }
        let mut threads = Vec::<Thread>::new();
        let resp_shared = resp.as_ref().map(RespEnds::shared);
        let mut in_threads = Vec::new();
        let mut figures = Figures { stores: Vec::new(), resp: resp_shared };
        let shards = match &options.shards {
            Shards::Remote(shards) => shards.clone(),
            Shards::Local(count) => {
                let mut queues = queues.into_iter();
                let mut siblings = Siblings::among(*count)?.into_iter();
                let mut advertised = Vec::new();
                for (number, addr) in options.local_addrs(*count)?.into_iter().enumerate() {
                    let with_resp = resp.as_mut().and_then(|ends| ends.next(threads.first()));
                    let (shard, questions) = match siblings.next() {
                        Some(SiblingEnd { siblings, questions }) if *count > 1 => {
                            (Shard::among(siblings, options.capacity), Some(questions))
                        }
                        _ => (Shard::new(options.capacity), None),
                    };
                    let inlets = Inlets { queue: queues.next(), questions };
                    figures.stores.push(shard.store().clone());
                    let settings = ShardSettings {
                        addr,
                        shard: shard.clone(),
                        encryption: options.encryption.clone(),
                        inlets,
                        with_resp,
                    };
                    let thread = start_shard(number, settings, &stopper)?;
                    advertised.push(options.advertised(thread.addrs().bertha)?.into());
                    in_threads.push(thread.runtime().map(|runtime| (shard, runtime)));
                    threads.push(thread);
                }
                advertised
            }
        };
        let map = shard_map(shards)?;
        let in_threads = in_threads.into_iter().collect::<Option<Vec<_>>>().filter(|all| !all.is_empty());
        let local = local.map(|queues| Local { queues, kernel: in_threads.map(KernelShards::new) });
        let router = router::start(
            options.addr,
            options.encryption,
            options.sharding,
            options.routing,
            &map,
            local,
            &stopper,
        )?;
        let addr = router.addrs().bertha;
        let resp = threads.first().map(|shard| shard.addrs().resp.clone()).unwrap_or_default();
        threads.push(router);
        Ok(Self { addr, resp, map, stopper, threads, figures })
    }

    /// Starts a single shard without a router, for the [`Shards::Remote`] of another process.
    ///
    /// # Errors
    /// Errors of [`start`](Self::start).
    pub fn start_shard(
        addr: SocketAddr,
        capacity: Capacity,
        encryption: Option<Encryption>,
    ) -> Result<Self, Error> {
        let stopper = Stopper::new();
        let shard = Shard::alone_in_process(capacity);
        let figures = Figures { stores: vec![shard.store().clone()], resp: None };
        let settings = ShardSettings { addr, shard, encryption, inlets: Inlets::default(), with_resp: None };
        let shard = start_shard(0, settings, &stopper)?;
        let addr = shard.addrs().bertha;
        let map = shard_map([addr.into()])?;
        Ok(Self { addr, resp: Vec::new(), map, stopper, threads: vec![shard], figures })
    }

    /// Returns the address for clients, with the port that the system chose.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the addresses for clients that speak the protocol of Redis, in the order of the options.
    pub fn resp_addrs(&self) -> &[RespAddr] {
        &self.resp
    }

    /// Returns the map on which clients have to agree.
    pub fn map(&self) -> &ShardMap {
        &self.map
    }

    /// Returns the figures of the store, which can be read until it stops and after.
    pub fn figures(&self) -> Figures {
        self.figures.clone()
    }

    /// Closes all connections, and waits for their end: for at most some 300 ms with clients that don't
    /// answer.
    ///
    /// # Errors
    /// The error that ended a thread earlier.
    pub fn stop(mut self) -> Result<(), Error> {
        self.finish()
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.stopper.stop();
        self.threads.drain(..).map(Thread::join).fold(Ok(()), Result::and)
    }
}

impl Options {
    /// Returns the ends for clients that speak RESP, if there may be such clients.
    fn resp_ends(&self) -> Result<Option<RespEnds>, Error> {
        let refused = |what| Err(Error::new(ErrorKind::Invalid, what));
        match self.shards {
            _ if self.resp.is_empty() => Ok(None),
            Shards::Remote(_) => refused("clients that speak RESP are served by local shards alone"),
            _ if self.encryption.as_ref().is_some_and(Encryption::is_required) => refused(
                "encryption is required, and clients that speak RESP are served without; leave out one of the two",
            ),
            Shards::Local(count) => {
                let ends = Routes::among(count)?;
                Ok(Some(RespEnds::new(self.resp.clone(), ends, self.resp_settings.clone())))
            }
        }
    }

    fn local_addrs(&self, count: u16) -> Result<Vec<SocketAddr>, Error> {
        match self.addr.port() {
            0 => Ok(vec![self.addr; count.into()]),
            _ => shard_addrs(self.addr, count),
        }
    }

    fn advertised(&self, shard: SocketAddr) -> Result<SocketAddr, Error> {
        let ip = self.advertise.unwrap_or(shard.ip());
        if ip.is_unspecified() {
            let what =
                format!("clients can't reach a shard at {ip}; say by which address they do (--advertise)");
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        Ok(SocketAddr::new(ip, shard.port()))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            tracing::error!(%error, "a thread of the store had failed");
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("addr", &self.addr).field("map", &self.map).finish_non_exhaustive()
    }
}
