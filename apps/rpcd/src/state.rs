//! The settings and services that all applications of a daemon have in common.

pub(crate) mod dedicated;

use crate::admission::grpc_tls::Servers;
use crate::admission::refusals::NotTaken;
use crate::destinations::services::Services;
use crate::libraries::kinds::Kinds;
use crate::schemas::plans::{By, Name, Plans};
use crate::schemas::typed::Typed;
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::{Users, Waiting};
use dedicated::Dedicated;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

/// Number of bytes above which schemas are read one at a time.
const LARGE: usize = 16 << 10;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) services: Services,
    pub(crate) kinds: Kinds,
    pub(crate) servers: Servers,
    pub(crate) dedicated: Dedicated,
    pub(crate) users: Users,
    pub(crate) waiting: Waiting,
    /// Number of bytes to which each heap of an application grows.
    pub(crate) heap: usize,
    pub(crate) not_taken: NotTaken,
    /// Number of failures whose details were not understood.
    pub(crate) garbled_details: AtomicU64,
    pub(crate) plans: Arc<Plans>,
    /// The place for a large schema of which the name is made..
    naming: Semaphore,
    /// .. and for one that is read: many at once would take the processor from calls.
    reading: Semaphore,
    began: Instant,
}

impl State {
    pub(crate) fn new(
        services: Services,
        kinds: Kinds,
        servers: Servers,
        dedicated: Dedicated,
        users: Users,
        waiting: Waiting,
        heap: usize,
    ) -> Self {
        Self {
            services,
            kinds,
            servers,
            dedicated,
            users,
            waiting,
            heap,
            not_taken: NotTaken::default(),
            garbled_details: AtomicU64::new(0),
            plans: Arc::default(),
            naming: Semaphore::new(1),
            reading: Semaphore::new(1),
            began: Instant::now(),
        }
    }

    /// Returns the schema of a service, which is read unless it is known. A large one takes milliseconds, for which calls of others do not wait.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) with what is wrong with the schema.
    pub(crate) async fn typed(&self, descriptors: Vec<u8>) -> Result<Arc<Typed>, Error> {
        if descriptors.len() <= LARGE {
            let name = Name::of(&descriptors);
            return match self.plans.find(name, By::Hello) {
                Some(known) => Ok(known),
                None => self.read(name, descriptors).await,
            };
        }
        // Those whose schema is known do not wait for those who bring new ones.
        let place = self.naming.acquire().await.map_err(io::Error::other)?;
        let naming = spawn_blocking(move || (Name::of(&descriptors), descriptors));
        let (name, descriptors) = naming.await.map_err(io::Error::other)?;
        drop(place);
        if let Some(known) = self.plans.find(name, By::Hello) {
            return Ok(known);
        }
        let _place = self.reading.acquire().await.map_err(io::Error::other)?;
        // Another may have brought it meanwhile.
        match self.plans.find(name, By::Hello) {
            Some(known) => Ok(known),
            None => self.read(name, descriptors).await,
        }
    }

    async fn read(&self, name: Name, descriptors: Vec<u8>) -> Result<Arc<Typed>, Error> {
        let plans = Arc::clone(&self.plans);
        let typed = spawn_blocking(move || plans.read(name, descriptors, By::Hello));
        typed.await.map_err(io::Error::other)?.map_err(refused)
    }

    /// Reads the services of a schema, and keeps them.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) with what is wrong with the schema.
    pub(crate) async fn bind(&self, descriptors: Vec<u8>) -> Result<Vec<Arc<Typed>>, Error> {
        let plans = Arc::clone(&self.plans);
        let _place = self.reading.acquire().await.map_err(io::Error::other)?;
        let bound = spawn_blocking(move || plans.bind(&descriptors));
        bound.await.map_err(io::Error::other)?.map_err(refused)
    }

    /// Returns the time since the daemon began, which is the clock of engines.
    pub(crate) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Waits until a time of that clock; without one, for ever.
    pub(crate) async fn until(&self, due: Option<Duration>) {
        match due {
            Some(due) => sleep_until(self.began + due).await,
            None => pending().await,
        }
    }
}

#[cold]
fn refused(reason: impl ToString) -> Error {
    Error::new(ErrorKind::Refused, reason.to_string())
}
