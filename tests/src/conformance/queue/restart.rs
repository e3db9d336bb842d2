//! Servers that end and start again.

use super::scene::{Scene, message, number};
use super::{QueueSite, Restarted};
use bertha_core::Connection;
use bertha_queues::QueueConnection;
use futures_util::future::join3;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

/// The connections of both ends outlive a restart of the server. A server that keeps its data loses no
/// message that it accepted; if it comes back empty, the ends go on once the topic exists again.
pub async fn a_restart_is_survived<Q: QueueSite>(site: &Q) {
    let scene = Scene::usual(site).await;
    let [publisher, receiver] = scene.ends().await;
    let few = scene.sizes.few;
    let (sent, outcome, has_sent_all) = (Cell::new(0), Cell::new(None), Cell::new(false));
    let send = async {
        // Half of the messages are sent after the restart.
        let mut after = 0;
        while after < few {
            // The server may be away for longer than a call is repeated.
            let is_sent = publisher.send(message(sent.get())).await.is_ok();
            if is_sent {
                sent.set(sent.get() + 1);
                after += u64::from(outcome.get().is_some());
            }
            // No more than a few hundred messages are sent while the server is being restarted.
            tokio::time::sleep(Duration::from_millis(if is_sent { 10 } else { 100 })).await;
        }
        has_sent_all.set(true);
    };
    let missing = RefCell::new(BTreeSet::new());
    let receive = async {
        let mut came = BTreeSet::new();
        while !has_sent_all.get() || !missing.borrow().is_empty() {
            came.extend(next(&receiver).await);
            *missing.borrow_mut() = (0..sent.get()).filter(|number| !came.contains(number)).collect();
            if has_sent_all.get() && outcome.get() == Some(Restarted::Empty) {
                return;
            }
        }
    };
    let restart = async {
        while sent.get() < few {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let restarted = site.restart().await;
        if restarted == Restarted::Empty {
            scene.succeeds("create the topic again", scene.topic.create()).await;
        }
        outcome.set(Some(restarted));
    };
    // The restart and the messages may each take their time.
    let all = tokio::time::timeout(2 * scene.sizes.patience, join3(send, restart, receive)).await;
    let missing = missing.into_inner();
    assert!(
        all.is_ok(),
        "{} messages sent, {} missing from {:?} on; restarted: {:?}",
        sent.get(),
        missing.len(),
        missing.first(),
        outcome.get()
    );
    if outcome.get() == Some(Restarted::Empty) {
        let receiver = scene.receiver("again").await;
        scene.publish(&publisher, [7]).await;
        while number(&scene.next(&receiver).await) != 7 {}
    }
    scene.end().await;
}

/// Returns the number of the next message, if a message comes soon; after an error the receiver can only ask
/// again.
async fn next<S: bertha_queues::Service>(receiver: &QueueConnection<S>) -> Option<u64> {
    match tokio::time::timeout(Duration::from_millis(300), receiver.recv()).await {
        Ok(Ok(message)) => Some(number(&message)),
        Ok(Err(_)) => {
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
        Err(_) => None,
    }
}
