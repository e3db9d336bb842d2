//! The shards of operations.

use super::{Operation, Outcome};
use crate::shard_map;
use crate::shared_store::SharedStore;
use bertha::chunnels::ShardMap;
use bertha::{Addr, Error};
use std::net::Ipv4Addr;
use tokio::sync::{mpsc, oneshot};

/// The bursts that wait for one shard, at most; a session with more waits.
const QUEUE: usize = 1024;

/// The most bytes of values that the outcomes of one call hold, for each shard, before they are sent: what goes beyond it is postponed.
const VALUES: usize = 64 << 20;

/// The way from one shard to all others.
#[derive(Clone, Debug)]
pub(crate) struct Routes {
    /// The shard whose thread this is on.
    own: usize,
    map: ShardMap,
    queues: Vec<mpsc::Sender<Forwarded>>,
}

/// Operations for the shard of another thread, in order.
#[derive(Debug)]
pub(crate) struct Forwarded {
    operations: Vec<Operation>,
    /// Their outcomes, in the same order.
    outcomes: oneshot::Sender<Vec<Outcome>>,
}

/// One end for each shard.
pub(crate) struct RouteEnd {
    pub(crate) routes: Routes,
    /// Operations that the other shards forward to this one.
    pub(crate) forwarded: mpsc::Receiver<Forwarded>,
}

impl Routes {
    /// Makes the ends of `count` shards.
    ///
    /// # Errors
    /// The errors of [`shard_map`].
    pub(crate) fn among(count: u16) -> Result<Vec<RouteEnd>, Error> {
        // The shard of a key depends on their number alone, and not on where clients of Bertha reach them.
        let map = shard_map((1..=count).map(|port| Addr::from((Ipv4Addr::LOCALHOST, port))))?;
        let (queues, ends): (Vec<_>, Vec<_>) = (0..count).map(|_| mpsc::channel(QUEUE)).unzip();
        let ends = ends.into_iter().enumerate().map(|(own, forwarded)| {
            let routes = Self { own, map: map.clone(), queues: queues.clone() };
            RouteEnd { routes, forwarded }
        });
        Ok(ends.collect())
    }

    /// Returns true for one of all shards.
    pub(crate) fn is_first(&self) -> bool {
        self.own == 0
    }

    /// Carries out all `operations`, those of the own shard in `store`; appends their outcomes in the order of the operations. Operations
    /// of one shard keep their order. Once the values among the outcomes of a shard take more than 64 MiB, its further operations are
    /// [`Postponed`](Outcome::Postponed).
    pub(super) async fn carry_out(
        &self,
        store: &SharedStore,
        operations: &mut Vec<Operation>,
        outcomes: &mut Vec<Outcome>,
    ) {
        if self.queues.len() == 1 {
            carry_out(store, operations.drain(..), outcomes);
            return;
        }
        let mut here = List::default();
        let mut lists: Vec<List> = self.queues.iter().map(|_| List::default()).collect();
        for (place, operation) in operations.drain(..).enumerate() {
            let home = self.map.shard_of(operation.key());
            let list = if home == self.own { &mut here } else { &mut lists[home] };
            list.places.push(place);
            list.operations.push(operation);
            outcomes.push(Outcome::Refused("ERR the shard of this key has stopped"));
        }
        let mut fill = |places: Vec<usize>, done: Vec<Outcome>| {
            for (place, outcome) in places.into_iter().zip(done) {
                outcomes[place] = outcome;
            }
        };
        let mut waiting = Vec::new();
        for (list, queue) in lists.into_iter().zip(&self.queues).filter(|(list, _)| !list.places.is_empty()) {
            let (sender, receiver) = oneshot::channel();
            let forwarded = Forwarded { operations: list.operations, outcomes: sender };
            // Refused with the rest if the shard is gone.
            if queue.send(forwarded).await.is_ok() {
                waiting.push((list.places, receiver));
            }
        }
        let mut done = Vec::with_capacity(here.places.len());
        carry_out(store, here.operations.into_iter(), &mut done);
        fill(here.places, done);
        for (places, receiver) in waiting {
            fill(places, receiver.await.unwrap_or_default());
        }
    }
}

/// Some operations of a burst, and their places in it.
#[derive(Default)]
struct List {
    places: Vec<usize>,
    operations: Vec<Operation>,
}

/// Carries out in `store` what the other shards forward to it, until none of them is left.
pub(crate) async fn serve(store: SharedStore, mut forwarded: mpsc::Receiver<Forwarded>) {
    while let Some(Forwarded { operations, outcomes }) = forwarded.recv().await {
        let mut done = Vec::with_capacity(operations.len());
        carry_out(&store, operations.into_iter(), &mut done);
        // The asking session may be gone.
        let _ = outcomes.send(done);
    }
}

fn carry_out(store: &SharedStore, operations: impl Iterator<Item = Operation>, outcomes: &mut Vec<Outcome>) {
    // Some of them say how long a record lives from now on.
    let mut store = store.borrow_now();
    let mut values = 0;
    outcomes.extend(operations.map(|operation| {
        if values > VALUES {
            return Outcome::Postponed(operation);
        }
        let outcome = operation.apply(&mut store);
        values += outcome.value_len();
        outcome
    }));
}
