//! A participant that is missing from one reading of the store, as it is when the reading comes from a
//! replica that lags behind.

use crate::multi_endpoint::seeds::with_seeds;
use bertha_chunnels::{Batch, Nothing};
use bertha_core::{Buf, Connection, Error, make_stack, select};
use bertha_datapath_sim::SimRuntime;
use bertha_negotiation::Pick;
use bertha_negotiation::rendezvous::member::record::presence_key;
use bertha_negotiation::rendezvous::{
    MemoryStore, Name, Outcome, Rendezvous, RendezvousStore, Revision, Transaction,
};
use futures_util::future::{Either, select as first_of};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A store whose next reading lacks a participant.
struct Lagging {
    store: MemoryStore<SimRuntime>,
    left_out: Arc<Mutex<Option<u64>>>,
}

impl RendezvousStore for Lagging {
    type Watch = <MemoryStore<SimRuntime> as RendezvousStore>::Watch;

    async fn transact(&self, name: &Name, transaction: &Transaction) -> Result<Outcome, Error> {
        let mut outcome = self.store.transact(name, transaction).await?;
        if let Some(id) = self.left_out.lock().unwrap().take() {
            outcome.snapshot.entries.remove(&presence_key(id)).unwrap();
        }
        Ok(outcome)
    }

    async fn renew(&self, name: &Name, key: &str, ttl: Duration) -> Result<Option<Revision>, Error> {
        self.store.renew(name, key, ttl).await
    }

    async fn watch(&self, name: &Name) -> Result<Self::Watch, Error> {
        self.store.watch(name).await
    }

    async fn names(&self, limit: usize) -> Result<Vec<Name>, Error> {
        self.store.names(limit).await
    }
}

#[test]
fn who_was_left_out_of_one_reading_holds_up_no_change() {
    with_seeds(10, async |crowd, _| {
        let stack = || make_stack!(select!(Nothing, Batch::new()));
        let left_out = Arc::<Mutex<Option<u64>>>::default();
        let way = Lagging { store: crowd.store.clone(), left_out: left_out.clone() };
        let name = Name::new("crowd").unwrap();
        let one =
            stack().rendezvous(crowd.group(1), way, name).settings(crowd.settings.clone()).await.unwrap();
        let two = crowd.join(2, stack()).await.unwrap();
        assert_eq!(one.participants_other_than(1).await.unwrap(), 2);
        *left_out.lock().unwrap() = Some(two.id());
        // All participants read the store when a participant comes, and when a participant goes.
        let three = crowd.join(3, stack()).await.unwrap();
        while one.participants().contains(&two.id()) {
            crowd.pause(Duration::from_millis(1)).await;
        }
        three.close().await.unwrap();
        while !one.participants().contains(&two.id()) {
            crowd.pause(Duration::from_millis(1)).await;
        }
        let talking = async {
            let changing = async {
                one.upgrade(Pick::alternative(1)).await.unwrap();
                crowd.pause(Duration::from_millis(500)).await;
                two.send(Buf::copy_of(b"in the new round", 40).unwrap()).await.unwrap();
                crowd.pause(Duration::from_millis(500)).await;
            };
            // No participant sends this participant a message.
            first_of(pin!(changing), pin!(two.recv())).await;
        };
        let Either::Left((heard, _)) = first_of(pin!(one.recv()), pin!(talking)).await else {
            panic!("waits for who was left out")
        };
        assert_eq!(&*heard.unwrap(), b"in the new round");
    });
}
