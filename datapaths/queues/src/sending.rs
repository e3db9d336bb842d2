//! Sending: messages are published, in bursts, and again after temporary errors.

use crate::calls::Counters;
use crate::retries::{Retries, is_temporary};
use crate::{Abilities, Outgoing, Publisher, QueueSettings, Unsent};
use bertha_core::{Buf, Error, ErrorKind, Runtime};
use bertha_runtime::tokio::TokioRuntime;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The end that publishes.
pub(crate) struct Sending<P> {
    pub(crate) publisher: P,
    abilities: Abilities,
    settings: QueueSettings,
    counters: Arc<Counters>,
    /// Random number by which identities of messages differ from identities of every other connection.
    id: u64,
    last: AtomicU64,
}

/// A message on its way to the service.
struct Parcel {
    message: Buf,
    key: Option<u64>,
    id: u128,
}

impl<P: Publisher> Sending<P> {
    pub(crate) fn new(
        publisher: P,
        abilities: Abilities,
        settings: QueueSettings,
        counters: Arc<Counters>,
    ) -> Self {
        let id = TokioRuntime.random();
        Self { publisher, abilities, settings, counters, id, last: AtomicU64::new(0) }
    }

    pub(crate) async fn send(&self, key: Option<u64>, message: Buf) -> Result<(), Error> {
        self.check(&message)?;
        self.publish(vec![self.parcel(key, message)]).await
    }

    /// Publishes in calls of as many messages as the service accepts. A message that is too large ends the
    /// burst, once the messages before it are published.
    pub(crate) async fn send_all(
        &self,
        mut messages: impl Iterator<Item = (Option<u64>, Buf)> + Send,
    ) -> Result<(), Error> {
        let most = self.abilities.publish_batch.max(1);
        let most_bytes = self.abilities.publish_bytes;
        let mut next = None;
        loop {
            let mut burst = Vec::new();
            let mut bytes = 0_usize;
            let mut outcome = Ok(());
            while burst.len() < most
                && let Some((key, message)) = next.take().or_else(|| messages.next())
            {
                if let Err(error) = self.check(&message) {
                    outcome = Err(error);
                    break;
                }
                if !burst.is_empty() && bytes + message.len() > most_bytes {
                    next = Some((key, message));
                    break;
                }
                bytes += message.len();
                burst.push(self.parcel(key, message));
            }
            if !burst.is_empty() {
                self.publish(burst).await?;
            } else if outcome.is_ok() {
                return Ok(());
            }
            outcome?;
        }
    }

    fn parcel(&self, key: Option<u64>, message: Buf) -> Parcel {
        // Relaxed access suffices: no other value depends on the number.
        let number = self.last.fetch_add(1, Relaxed);
        Parcel { message, key, id: u128::from(self.id) << 64 | u128::from(number) }
    }

    fn check(&self, message: &Buf) -> Result<(), Error> {
        if message.len() <= self.abilities.max_message { Ok(()) } else { Err(self.too_large(message.len())) }
    }

    #[cold]
    fn too_large(&self, len: usize) -> Error {
        let Abilities { service, max_message, .. } = self.abilities;
        let what = format!(
            "message of {len} bytes, at most {max_message} fit; where the topic has one receiver, put Fragment above to split messages"
        );
        Error::new(ErrorKind::TooLarge, what).at(service)
    }

    /// Publishes a burst that fits into a single call, and repeats the call for messages that the service did
    /// not accept at that moment.
    async fn publish(&self, burst: Vec<Parcel>) -> Result<(), Error> {
        let mut too_large = Vec::new();
        let mut outcome = self.publish_together(burst, &mut too_large).await;
        // A service may refuse a burst as a whole, because it is too large for a topic whose limit the client does
        // not know; each message may fit.
        for parcel in too_large {
            if !ends_burst(&outcome) {
                let alone = self.publish_together(vec![parcel], &mut Vec::new()).await;
                outcome = outcome.and(alone);
            }
        }
        outcome
    }

    /// Publishes a burst, except messages that are too large in the burst, which are put into `too_large`.
    async fn publish_together(
        &self,
        mut burst: Vec<Parcel>,
        too_large: &mut Vec<Parcel>,
    ) -> Result<(), Error> {
        let mut retries = Retries::new(&self.settings);
        let mut refused = Ok(());
        loop {
            let failure = match self.publish_once(&burst).await {
                Ok(unsent) => {
                    self.counters.has_published(burst.len() - unsent.len());
                    let sorted = sort_out(burst, unsent);
                    burst = sorted.later;
                    too_large.extend(sorted.too_large);
                    refused = refused.and(sorted.refused);
                    sorted.reason
                }
                Err(error) => Some(error),
            };
            let Some(failure) = failure else { return refused };
            let pause = retries.after(failure, TokioRuntime.now(), TokioRuntime.random())?;
            tokio::time::sleep(pause).await;
        }
    }

    async fn publish_once(&self, burst: &[Parcel]) -> Result<Vec<Unsent>, Error> {
        self.counters.publishes(burst.iter().map(|parcel| parcel.message.len()).sum());
        let outgoing: Vec<_> = burst
            .iter()
            .map(|parcel| Outgoing { payload: &parcel.message, key: parcel.key, id: parcel.id })
            .collect();
        self.publisher.publish(&outgoing).await
    }
}

/// The messages of a burst that the service did not take.
struct SortedOut {
    /// The messages that may be accepted later.
    later: Vec<Parcel>,
    /// The reason why they were not accepted now.
    reason: Option<Error>,
    /// The messages that were too large beside other messages of the burst.
    too_large: Vec<Parcel>,
    /// The error of the first message that will never be accepted.
    refused: Result<(), Error>,
}

fn sort_out(burst: Vec<Parcel>, unsent: Vec<Unsent>) -> SortedOut {
    let is_alone = burst.len() == 1;
    let mut sorted = SortedOut { later: Vec::new(), reason: None, too_large: Vec::new(), refused: Ok(()) };
    let mut unsent = unsent.into_iter().peekable();
    for (at, parcel) in burst.into_iter().enumerate() {
        let Some(Unsent { error, .. }) = unsent.next_if(|unsent| unsent.at == at) else { continue };
        if is_temporary(&error) {
            sorted.later.push(parcel);
            sorted.reason = Some(error);
        } else if error.kind() == ErrorKind::TooLarge && !is_alone {
            sorted.too_large.push(parcel);
        } else if sorted.refused.is_ok() {
            sorted.refused = Err(error);
        }
    }
    sorted
}

/// Returns true if the rest of a burst would meet the same failure.
fn ends_burst(outcome: &Result<(), Error>) -> bool {
    outcome.as_ref().is_err_and(|error| error.kind() != ErrorKind::TooLarge)
}
