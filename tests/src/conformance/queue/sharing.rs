//! Several receivers of a subscription.

use super::QueueSite;
use super::scene::{Scene, number};
use bertha_core::Connection;
use bertha_queues::QueueConnection;
use futures_util::future::{Either, join, join3, select};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

/// "the receivers of a subscription share its messages: each message goes to one receiver." Both receivers
/// get some messages, and together they get all.
pub async fn competing_receivers_share<Q: QueueSite>(site: &Q) {
    let scene = Scene::usual(site).await;
    let [publisher, first] = scene.ends().await;
    let second = scene.receiver("all").await;
    Box::pin(share(&scene, &publisher, [&first, &second], scene.sizes.few)).await;
    scene.end().await;
}

/// Publishes messages, at least `least`, until both receivers have had some messages, and together all.
async fn share<Q: QueueSite>(
    scene: &Scene<Q>,
    publisher: &QueueConnection<Q::Service>,
    [first, second]: [&QueueConnection<Q::Service>; 2],
    least: u64,
) {
    let came = [RefCell::new(Vec::new()), RefCell::new(Vec::new())];
    let (sent, all_are_sent) = (Cell::new(0), Cell::new(false));
    // A service may take a while until it gives a new receiver its share.
    let is_shared = || came.iter().all(|came| !came.borrow().is_empty());
    let is_complete = || {
        let all: BTreeSet<u64> = came.iter().flat_map(|came| came.borrow().clone()).collect();
        all_are_sent.get() && all.len() as u64 == sent.get()
    };
    let send = async {
        while sent.get() < least || !is_shared() {
            let next = sent.get();
            scene.publish(publisher, next..next + 10).await;
            sent.set(next + 10);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        all_are_sent.set(true);
    };
    let receive = async |receiver: &QueueConnection<Q::Service>, came: &RefCell<Vec<u64>>| {
        while !is_complete() {
            let received = tokio::time::timeout(Duration::from_millis(300), receiver.recv()).await;
            if let Ok(message) = received {
                came.borrow_mut().push(number(&message.unwrap_or_else(|error| panic!("recv: {error:?}"))));
            }
        }
    };
    let share = join3(send, receive(first, &came[0]), receive(second, &came[1]));
    scene.soon("messages for both receivers", share).await;
    // These are repetitions of messages whose receivers have changed meanwhile.
    let repeated = async || {
        let (one, other) = (pin!(first.recv()), pin!(second.recv()));
        tokio::time::timeout(Duration::from_millis(300), select(one, other)).await.is_ok()
    };
    while repeated().await {}
    scene.succeeds("drain", first.drain()).await;
    scene.succeeds("drain", second.drain()).await;
}

/// While a message is held, no other receiver gets it.
pub async fn a_message_that_is_held_comes_to_nobody_else<Q: QueueSite>(site: &Q) {
    let scene = Scene::usual(site).await;
    let [publisher, first] = scene.ends().await;
    let second = scene.receiver("all").await;
    // A service may move messages among its receivers as long as their shares are not settled.
    Box::pin(share(&scene, &publisher, [&first, &second], 10)).await;
    let acknowledgements =
        || [&first, &second].map(|end| end.calls()).map(|calls| calls.acknowledge + calls.unacknowledged);
    let before: u64 = acknowledgements().iter().sum();
    scene.publish(&publisher, [1]).await;
    let held = scene.soon("recv at either of two", async {
        match select(pin!(first.recv()), pin!(second.recv())).await {
            Either::Left((message, _)) | Either::Right((message, _)) => message,
        }
    });
    let held = held.await;
    let held = held.unwrap_or_else(|error| panic!("recv: {error:?}"));
    let nothing =
        |duration| join(scene.nothing_comes(&first, duration), scene.nothing_comes(&second, duration));
    nothing(Duration::from_millis(700)).await;
    drop(held);
    scene.succeeds("drain", first.drain()).await;
    scene.succeeds("drain", second.drain()).await;
    let calls = acknowledgements();
    assert_eq!(calls.iter().sum::<u64>() - before, 1, "{calls:?}");
    nothing(Duration::from_millis(300)).await;
    scene.end().await;
}
