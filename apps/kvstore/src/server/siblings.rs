//! The shards of a process, which answer scans together.

use crate::page::PageLimits;
use crate::shared_store::SharedStore;
use crate::{Key, Page, shard_map};
use bertha::chunnels::ShardMap;
use bertha::{Addr, Error};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Maximum number of questions that wait for a shard; further scans wait.
const QUEUE: usize = 1024;

/// The connection of a shard to the other shards of its process. Clones are cheap.
#[derive(Clone, Debug)]
pub(crate) struct Siblings {
    /// The number of this shard.
    own: usize,
    map: ShardMap,
    shards: Arc<[mpsc::Sender<Question>]>,
}

/// A question for a shard's part of a page.
#[derive(Debug)]
pub(crate) struct Question {
    from: Key,
    limits: PageLimits,
    answer: oneshot::Sender<Page>,
}

/// The end of a shard.
#[derive(Debug)]
pub(crate) struct SiblingEnd {
    pub(crate) siblings: Siblings,
    /// The questions of the other shards.
    pub(crate) questions: mpsc::Receiver<Question>,
}

impl Siblings {
    /// Makes the ends of `count` shards.
    ///
    /// # Errors
    /// The errors of [`shard_map`].
    pub(crate) fn among(count: u16) -> Result<Vec<SiblingEnd>, Error> {
        // The shard of a key depends on the number of shards alone.
        let map = shard_map((1..=count).map(|port| Addr::from((Ipv4Addr::LOCALHOST, port))))?;
        let (shards, questions): (Vec<_>, Vec<_>) = (0..count).map(|_| mpsc::channel(QUEUE)).unzip();
        let shards: Arc<[_]> = shards.into();
        let ends = questions.into_iter().enumerate().map(|(own, questions)| {
            let siblings = Self { own, map: map.clone(), shards: shards.clone() };
            SiblingEnd { siblings, questions }
        });
        Ok(ends.collect())
    }

    /// Returns the page of all shards from `from` on, in which `store` has the records of this shard; `None`
    /// if a shard has stopped.
    pub(crate) async fn page(&self, store: &SharedStore, from: &Key, limits: PageLimits) -> Option<Page> {
        let share = limits.share(self.shards.len());
        let mut waiting = Vec::with_capacity(self.shards.len());
        for (shard, questions) in self.shards.iter().enumerate().filter(|(shard, _)| *shard != self.own) {
            let (answer, answered) = oneshot::channel();
            questions.send(Question { from: from.clone(), limits: share, answer }).await.ok()?;
            waiting.push((shard, answered));
        }
        let mut pages = vec![(self.own, store.borrow().page(from, share))];
        for (shard, answered) in waiting {
            pages.push((shard, answered.await.ok()?));
        }
        Some(Page::merged(pages, limits, |key| self.map.shard_of(key)))
    }
}

/// Answers the questions of the other shards from `store`, until no shard is left. It never waits for another
/// shard, so shards that ask each other at a time do not wait for ever.
pub(crate) async fn serve(store: SharedStore, mut questions: mpsc::Receiver<Question>) {
    while let Some(Question { from, limits, answer }) = questions.recv().await {
        let page = store.borrow().page(&from, limits);
        // The scan may have ended with its connection.
        let _ = answer.send(page);
    }
}
