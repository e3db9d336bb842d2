//! The cost of rendezvous in round trips to the store.

use super::scene::{Scene, xy};
use bertha_core::{Error, Runtime};
use bertha_datapath_sim::{Sim, SimRuntime};
use bertha_negotiation::rendezvous::{MemoryStore, Name, Outcome, RendezvousStore, Revision, Transaction};
use bertha_tests::with_seeds;
use futures_util::future::join;
use std::sync::atomic::Ordering;
use std::time::Duration;

const ROUND_TRIP: Duration = Duration::from_millis(10);

/// A store in memory that is one round trip away.
struct Distant {
    store: MemoryStore<SimRuntime>,
    runtime: SimRuntime,
}

impl Distant {
    async fn far<T>(&self, call: impl Future<Output = T>) -> T {
        self.runtime.sleep(ROUND_TRIP / 2).await;
        let answer = call.await;
        self.runtime.sleep(ROUND_TRIP / 2).await;
        answer
    }
}

impl RendezvousStore for Distant {
    type Watch = <MemoryStore<SimRuntime> as RendezvousStore>::Watch;

    async fn transact(&self, name: &Name, transaction: &Transaction) -> Result<Outcome, Error> {
        self.far(self.store.transact(name, transaction)).await
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Result<Option<Revision>, Error> {
        self.far(self.store.renew(name, key, ttl)).await
    }

    async fn watch(&self, name: &Name) -> Result<Self::Watch, Error> {
        self.far(self.store.watch(name)).await
    }

    async fn names(&self, limit: usize) -> Result<Vec<Name>, Error> {
        self.far(self.store.names(limit)).await
    }
}

fn at_a_distance(play: impl AsyncFn(&Scene<Distant, SimRuntime>)) {
    with_seeds(50, |seed| {
        let mut sim = Sim::new(seed);
        let runtime = sim.runtime();
        let store = MemoryStore::new(runtime.clone());
        sim.run(play(&Scene::new(Distant { store, runtime: runtime.clone() }, runtime)));
    });
}

#[test]
fn making_a_connection_takes_one_and_joining_it_two() {
    at_a_distance(async |scene| {
        let start = scene.runtime.now();
        let _first = scene.join(&xy()).await;
        assert_eq!(scene.runtime.now() - start, ROUND_TRIP);
        let start = scene.runtime.now();
        let _second = scene.join(&xy()).await;
        assert_eq!(scene.runtime.now() - start, 2 * ROUND_TRIP);
    });
}

#[test]
fn a_switch_of_two_takes_ten_at_most() {
    at_a_distance(async |scene| {
        let mut first = scene.join(&xy()).await;
        let mut second = scene.join(&xy()).await;
        first.knows_of(2).await;
        second.knows_of(2).await;
        scene.pause(10 * ROUND_TRIP).await;
        let start = scene.runtime.now();
        scene.store.transactions.store(0, Ordering::Relaxed);
        first.participant.propose([1]).await.unwrap();
        join(first.uses("Y"), second.uses("Y")).await;
        let count = scene.store.transactions.load(Ordering::Relaxed);
        assert!(count <= 10, "{count} transactions of both together");
        assert!(scene.runtime.now() - start <= 5 * ROUND_TRIP, "one after the other");
    });
}
