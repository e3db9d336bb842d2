//! The publishing end of both services.

use crate::{Outgoing, Publisher, Unsent};
use bertha_core::Error;
use futures_util::future::{join, try_join};

/// An end that publishes to a [`Pair`](crate::Pair).
#[derive(Debug)]
pub struct PairPublisher<A, B> {
    pub(super) without_key: A,
    pub(super) with_key: B,
}

impl<A: Publisher, B: Publisher> Publisher for PairPublisher<A, B> {
    async fn publish(&self, burst: &[Outgoing<'_>]) -> Result<Vec<Unsent>, Error> {
        let places = |has_key: bool| {
            let of_kind =
                burst.iter().enumerate().filter(move |(_, message)| message.key.is_some() == has_key);
            of_kind.map(|(at, _)| at).collect::<Vec<usize>>()
        };
        let without = places(false);
        let with = places(true);
        let (one, other) =
            try_join(publish(&self.without_key, burst, &without), publish(&self.with_key, burst, &with))
                .await?;
        let mut unsent = one;
        unsent.extend(other);
        unsent.sort_unstable_by_key(|unsent| unsent.at);
        Ok(unsent)
    }

    async fn close(&self) -> Result<(), Error> {
        let (one, other) = join(self.without_key.close(), self.with_key.close()).await;
        one.and(other)
    }
}

/// Publishes the messages at these places of the burst. Returns the places of the messages that were not
/// accepted.
async fn publish<P: Publisher>(
    publisher: &P,
    burst: &[Outgoing<'_>],
    places: &[usize],
) -> Result<Vec<Unsent>, Error> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let chosen: Vec<Outgoing<'_>> = places.iter().map(|at| burst[*at]).collect();
    let unsent = publisher.publish(&chosen).await?;
    Ok(unsent.into_iter().map(|Unsent { at, error }| Unsent { at: places[at], error }).collect())
}
