//! The settings and services that all applications of a daemon have in common.

use crate::grpc_tls::Servers;
use crate::kinds::Kinds;
use crate::refusals::NotTaken;
use crate::services::Services;
use crate::typed::Typed;
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::{Users, Waiting};
use std::future::pending;
use std::io;
use std::sync::Arc;
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
    pub(crate) users: Users,
    pub(crate) waiting: Waiting,
    /// Number of bytes to which each heap of an application grows.
    pub(crate) heap: usize,
    pub(crate) not_taken: NotTaken,
    /// The place for a large schema that is read: many at once would take the processor from calls.
    reading: Semaphore,
    began: Instant,
}

impl State {
    pub(crate) fn new(
        services: Services,
        servers: Servers,
        users: Users,
        waiting: Waiting,
        heap: usize,
    ) -> Self {
        Self {
            services,
            kinds: Kinds::default(),
            servers,
            users,
            waiting,
            heap,
            not_taken: NotTaken::default(),
            reading: Semaphore::new(1),
            began: Instant::now(),
        }
    }

    /// Reads the schema of a service. A large one takes milliseconds, for which calls of others do not wait.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) with what is wrong with the schema.
    pub(crate) async fn typed(&self, descriptors: Vec<u8>) -> Result<Arc<Typed>, Error> {
        let is_large = descriptors.len() > LARGE;
        let place = async { if is_large { self.reading.acquire().await.map(Some) } else { Ok(None) } };
        let _place = place.await.map_err(io::Error::other)?;
        let typed = spawn_blocking(move || Typed::read(descriptors)).await.map_err(io::Error::other)?;
        typed.map(Arc::new).map_err(|unsuitable| Error::new(ErrorKind::Refused, unsuitable.to_string()))
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
