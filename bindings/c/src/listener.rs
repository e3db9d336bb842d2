//! A server, whose clients are accepted in a task of the process.

use crate::code::Code;
use crate::failure::Failure;
use crate::queue::{Look, Queue};
use crate::readiness::Readiness;
use crate::wait::{Limit, spawn, wait};
use bertha::Addr;
use bertha_named::{AnyConnection, Listened, Listening, Transport};
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Most clients that wait for a call; further ones wait in the backlog of the datapath.
const WAITING: usize = 16;

/// A server.
pub(crate) struct Listener {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    address: Addr,
    clients: Arc<Queue<Result<Arc<dyn AnyConnection>, Failure>>>,
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
        let clients = Arc::new(Queue::new(readiness.clone()));
        let address = listened.0.clone();
        spawn(released.clone(), accept(listened, clients.clone()))?;
        Ok(Arc::new(Self { released, readiness, address, clients }))
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Waits for a client.
    ///
    /// # Errors
    /// [`BERTHA_IO`](Code::BERTHA_IO) if the listener has failed; [`Failure::LATE`].
    pub(crate) fn accept(&self, limit: Limit) -> Result<Arc<dyn AnyConnection>, Failure> {
        loop {
            let outcome = wait(limit, &self.released, self.next());
            // A client that came behind the look is found at once.
            match outcome {
                Err(failure) if failure.is_late() && !self.clients.clear_if_empty() => {}
                outcome => return outcome,
            }
        }
    }

    async fn next(&self) -> Result<Arc<dyn AnyConnection>, Failure> {
        loop {
            let arrival = self.clients.arrival();
            match self.clients.take() {
                Look::Found(Err(failure)) => {
                    self.clients.put_back(Err(failure.clone()));
                    return Err(failure);
                }
                Look::Found(client) => return client,
                Look::Gathering | Look::Nothing => arrival.await,
            }
        }
    }

    pub(crate) fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Stops listening.
    pub(crate) fn release(&self) {
        self.released.cancel();
        self.readiness.close();
    }
}

/// Accepts clients until the listener fails.
async fn accept(listened: Listened, clients: Arc<Queue<Result<Arc<dyn AnyConnection>, Failure>>>) {
    let (_, mut incoming, _registration) = listened;
    while let Some(client) = incoming.next().await {
        clients.has_room(WAITING).await;
        clients.push([Ok(client)]);
    }
    clients.push([Err(Failure::new(Code::BERTHA_IO, "the listener has failed"))]);
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}
