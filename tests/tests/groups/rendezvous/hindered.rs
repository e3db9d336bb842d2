//! A store that delays some writes, does not carry them out, or carries them out and reports a failure.

use bertha_core::{BoxFuture, Error, ErrorKind};
use bertha_negotiation::rendezvous::{Name, Outcome, RendezvousStore, Revision, Transaction};
use std::time::Duration;

/// The fate of a transaction that writes.
pub(crate) enum Fate {
    CarriedOut,
    Lost,
    /// The transaction is carried out, and the answer is lost.
    AnswerLost,
}

/// A participant's connection to a store. `fate` decides the fate of a transaction before it is carried out,
/// and may take time.
pub(crate) struct Hindered<S> {
    pub(crate) store: S,
    #[allow(clippy::type_complexity, reason = "it is named once")]
    pub(crate) fate: Box<dyn Fn(Transaction) -> BoxFuture<'static, Fate> + Send + Sync>,
}

impl<S: RendezvousStore> RendezvousStore for Hindered<S> {
    type Watch = S::Watch;

    async fn transact(&self, name: &Name, transaction: &Transaction) -> Result<Outcome, Error> {
        let lost = Error::new(ErrorKind::Unreachable, "lost");
        let fate = match transaction.writes().is_empty() {
            true => Fate::CarriedOut,
            false => (self.fate)(transaction.clone()).await,
        };
        match fate {
            Fate::CarriedOut => self.store.transact(name, transaction).await,
            Fate::Lost => Err(lost),
            Fate::AnswerLost => {
                self.store.transact(name, transaction).await?;
                Err(lost)
            }
        }
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Result<Option<Revision>, Error> {
        self.store.renew(name, key, ttl).await
    }

    async fn watch(&self, name: &Name) -> Result<S::Watch, Error> {
        self.store.watch(name).await
    }

    async fn names(&self, limit: usize) -> Result<Vec<Name>, Error> {
        self.store.names(limit).await
    }
}
