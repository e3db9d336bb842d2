//! Order, for services that keep it.

use super::scene::{Scene, is_ordered, message, number};
use super::{QueueSite, Sizes};
use bertha_core::guarantee::{Ordered, Set};
use bertha_core::{
    Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, OrdersByKey, Wrap,
    make_stack,
};
use bertha_queues::{Ordering, QueueConnection};
use futures_util::future::{join, join3};
use std::cell::RefCell;
use std::collections::HashMap;

/// Number of keys.
const KEYS: u64 = 5;

/// "Messages with equal keys stay in order, for any number of receivers that share a subscription."
pub async fn messages_with_a_key_stay_in_order<Q: QueueSite>(site: &Q) {
    let Some(scene) = Scene::ordered(site, Ordering::ByKey).await else { return };
    let [publisher, receiver] = scene.ends().await;
    let other = scene.receiver("all").await;
    scene.succeeds("keeps_order_by_key", async { publisher.keeps_order_by_key() }).await;
    let Sizes { few, .. } = scene.sizes;
    // Messages are sent alone and in bursts.
    let send = async {
        for first in (0..few).step_by(20) {
            let burst: Vec<_> =
                (first + 1..few.min(first + 20)).map(|number| (number % KEYS, message(number))).collect();
            scene.succeeds("send_by_key", publisher.send_by_key(first % KEYS, message(first))).await;
            scene.succeeds("send_batch_by_key", publisher.send_batch_by_key(burst.into_iter())).await;
        }
    };
    let came = RefCell::new(Vec::new());
    let is_complete = || {
        let came = came.borrow();
        super::scene::first_times(&came).len() as u64 == few
    };
    let receive = async |receiver: &QueueConnection<Q::Service>| {
        while !is_complete() {
            let mut burst = Vec::new();
            // The other receiver may get the last messages.
            let recv = receiver.recv_batch(&mut burst, 7);
            let recv = tokio::time::timeout(std::time::Duration::from_millis(500), recv).await;
            if let Ok(received) = recv {
                received.unwrap_or_else(|error| panic!("recv_batch: {error:?}"));
            }
            // The messages are recorded in their turn, while the burst is held.
            came.borrow_mut().extend(burst.iter().map(|message| number(message)));
        }
    };
    let both = async { join3(send, receive(&receiver), receive(&other)).await };
    scene.soon("messages with keys", both).await;
    let came = super::scene::first_times(&came.borrow());
    let mut last = HashMap::new();
    for number in &came {
        let before = last.insert(number % KEYS, *number);
        assert!(before.is_none_or(|before| before < *number), "{number} came behind {before:?}");
    }
    scene.end().await;
}

/// "All messages stay in order, as long as a subscription has a single receiver."
pub async fn messages_to_one_receiver_stay_in_order<Q: QueueSite>(site: &Q) {
    let Some(scene) = Scene::ordered(site, Ordering::OneReceiver).await else { return };
    let [publisher, receiver] = scene.ends().await;
    let count = 10 * scene.sizes.few;
    let (came, ()) = join(scene.receive(&receiver, count), scene.publish(&publisher, 0..count)).await;
    let came = super::scene::first_times(&came);
    let swapped = came.windows(2).find(|two| two[0] > two[1]);
    assert_eq!(swapped, None, "came out of order");
    scene.end().await;
}

/// A stack that needs order runs over a topic that keeps it. Over any other topic the stack is refused before
/// anything is sent. The error names both remedies, also for a topic without order by key.
pub async fn a_stack_gets_the_order_that_is_kept<Q: QueueSite>(site: &Q) {
    for ordering in site.orders() {
        let Some(scene) = Scene::ordered(site, *ordering).await else { continue };
        assert_eq!(scene.abilities().ordering, *ordering);
        let [publisher, receiver] = scene.ends().await;
        let keeps = *ordering == Ordering::OneReceiver;
        assert_eq!((is_ordered(&publisher), is_ordered(&receiver)), (keeps, keeps));
        match publisher.keeps_order_by_key() {
            Ok(()) => assert_eq!(*ordering, Ordering::ByKey),
            Err(error) => {
                assert_ne!(*ordering, Ordering::ByKey);
                refusal(&error);
            }
        }
        match make_stack!(InOrder).wrap(publisher).await {
            Ok(_) => assert!(keeps, "a stack that needs order runs over {ordering}"),
            Err(error) => {
                assert!(!keeps, "{error}");
                refusal(&error);
            }
        }
        scene.end().await;
    }
}

fn refusal(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    for way in ["ordered queue", "single receiver"] {
        assert!(error.context().contains(way), "the error does not name the {way}: {error}");
    }
}

/// A Chunnel that needs order below it.
#[derive(Debug, Clone, Copy, Identity)]
#[chunnel(needs = Self::needs)]
struct InOrder;

impl InOrder {
    fn needs(&self) -> Set {
        Set::of::<Ordered>()
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for InOrder {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}
