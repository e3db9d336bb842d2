//! Acknowledging by an act.

use super::scene::{Scene, number};
use super::{QueueSettings, QueueSite};
use bertha_core::{Buf, Connection};
use bertha_queues::QueueConnection;
use futures_util::future::join;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::Duration;

/// Of many messages, no message is lost whose receiver was killed, or whose work was cancelled, timed out, panicked,
/// returned early or gave the message back.
pub async fn work_that_is_given_up_loses_nothing<Q: QueueSite>(site: &Q) {
    let settings = QueueSettings::default().prefetch(site.settings().prefetch).acknowledge_by_dropping(false);
    let scene = Scene::<Q>::with_settings(site, site.impatient().await, settings).await;
    let [publisher, receiver] = scene.ends().await;
    scene.succeeds("close", receiver.close()).await;
    drop(receiver);
    let count = scene.sizes.messages / 2;
    let at_first = count.min(100);
    scene.publish(&publisher, 0..at_first).await;
    // The program holds messages without an act.
    scene.soon("a killed receiver", site.kill_a_receiver(scene.topic.name(), "all", 5)).await;
    let done = RefCell::new(BTreeSet::new());
    let failed = RefCell::new(BTreeSet::new());
    let receive = async |receiver: QueueConnection<Q::Service>| {
        while (done.borrow().len() as u64) < count {
            let mut burst = Vec::new();
            // The other receiver may get the last messages.
            let recv = receiver.recv_batch(&mut burst, 20);
            let Ok(received) = tokio::time::timeout(Duration::from_millis(500), recv).await else { continue };
            received.unwrap_or_else(|error| panic!("recv_batch: {error:?}"));
            for message in burst {
                let number = number(&message);
                // The work on each tenth message fails once, in one of five ways.
                if number % 10 == 3 && failed.borrow_mut().insert(number) {
                    give_up(message, number / 10 % 5).await;
                } else {
                    done.borrow_mut().insert(number);
                    message.done();
                }
            }
        }
        scene.succeeds("close", receiver.close()).await;
        assert_eq!(receiver.calls().unacknowledged, 0, "{:?}", receiver.calls());
    };
    let (first, second) = (scene.receiver("all").await, scene.receiver("all").await);
    let all = join(join(receive(first), receive(second)), scene.publish(&publisher, at_first..count));
    if tokio::time::timeout(4 * scene.sizes.patience, all).await.is_err() {
        let done = done.borrow();
        let missing: Vec<_> = (0..count).filter(|number| !done.contains(number)).take(10).collect();
        panic!("{} of {count} messages are done; missing are {missing:?}", done.len());
    }
    scene.end().await;
}

/// Gives up the work on a message, in a way with a number.
async fn give_up(message: Buf, way: u64) {
    let work = |message: Buf| async move {
        std::future::pending::<()>().await;
        message.done();
    };
    match way {
        0 => {
            let task = tokio::spawn(work(message));
            tokio::task::yield_now().await;
            task.abort();
        }
        1 => drop(tokio::time::timeout(Duration::from_millis(1), work(message)).await),
        2 => message.give_back(),
        3 => {
            let task = tokio::spawn(async move {
                let _message = message;
                // The panic is not reported: it is intended.
                std::panic::resume_unwind(Box::new("the work on a message failed"));
            });
            assert!(task.await.unwrap_err().is_panic());
        }
        _ => drop(message),
    }
}
