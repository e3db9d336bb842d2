//! A server, whose clients are accepted in a task of the process.

use crate::code::Code;
use crate::failure::Failure;
use crate::readiness::Readiness;
use crate::source::{Filling, Source};
use crate::wait::{Limit, wait};
use bertha::Addr;
use bertha_named::{AnyConnection, Listened, Listening, Transport};
use parking_lot::Mutex;
use std::convert::Infallible;
use std::fmt;
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longest time for which a release waits until the address is free.
const FREED: Duration = Duration::from_secs(1);

/// A server. Clients that nobody accepts wait in the backlog of the datapath, but for a few.
pub(crate) struct Listener {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    address: Addr,
    pub(crate) clients: Source<Arc<dyn AnyConnection>>,
    /// Ends when the task has let go of the address.
    freed: Mutex<mpsc::Receiver<Infallible>>,
}

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// Errors of listening.
    pub(crate) fn begin(over: Transport, listening: Listening) -> Result<Arc<Self>, Failure> {
        let (released, readiness) = (CancellationToken::new(), Arc::<Readiness>::default());
        let listening = async { over.run(listening).await.map_err(Failure::from) };
        let listened = wait(Limit::Never, &released, listening)?;
        let address = listened.0.clone();
        let (frees, freed) = mpsc::channel();
        let clients = Source::begin(&released, &readiness, |clients| async move {
            let _frees = frees;
            accept(listened, clients).await
        })?;
        Ok(Arc::new(Self { released, readiness, address, clients, freed: Mutex::new(freed) }))
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Stops listening, and waits for a moment until the address is free.
    pub(crate) fn release(&self) {
        self.released.cancel();
        self.readiness.close();
        let _ended = self.freed.lock().recv_timeout(FREED);
    }
}

/// Accepts clients until the listener fails.
async fn accept(listened: Listened, clients: Filling<Arc<dyn AnyConnection>>) -> Failure {
    let (_, mut incoming, _registration) = listened;
    while let Some(client) = incoming.next().await {
        clients.has_room().await;
        clients.push(client);
    }
    Failure::new(Code::BERTHA_IO, "the listener has failed")
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}
