//! A server, whose clients are accepted in a task of the process.

use crate::code::Code;
use crate::failure::Failure;
use crate::readiness::Readiness;
use crate::source::{Filling, Source};
use crate::wait::{Limit, wait};
use bertha::Addr;
use bertha_named::{AnyConnection, Freed, Listened, Listening, Transport};
use std::fmt;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A server. Clients that nobody accepts wait in the backlog of the datapath, but for a few.
pub(crate) struct Listener {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    address: Addr,
    pub(crate) clients: Source<Arc<dyn AnyConnection>>,
    freed: Freed,
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
        let (in_use, freed) = Freed::after_use();
        let clients = Source::begin(&released, &readiness, |clients| in_use.by(accept(listened, clients)))?;
        Ok(Arc::new(Self { released, readiness, address, clients, freed }))
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
        self.freed.wait();
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
