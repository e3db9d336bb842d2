//! Messages that were not acknowledged are delivered again.

use super::QueueSite;
use super::scene::{Scene, number};
use bertha_core::{Buf, Connection};

/// "A message that is not acknowledged, because [...] the thread panicked, is delivered again, to any
/// receiver of the subscription."
pub async fn a_message_whose_work_fails_comes_again<Q: QueueSite>(site: &Q) {
    let scene = Scene::impatient(site).await;
    let [publisher, receiver] = scene.ends().await;
    scene.publish(&publisher, [1]).await;
    fail(scene.next(&receiver).await);
    let again = scene.next(&receiver).await;
    assert_eq!(number(&again), 1);
    drop(again);
    scene.succeeds("drain", receiver.drain()).await;
    let calls = receiver.calls();
    assert_eq!((calls.give_back, calls.acknowledge, calls.received), (1, 1, 2));
    scene.end().await;
}

/// When it is closed or dropped, a receiver gives back the messages that it holds, and acknowledges the
/// messages that it has dropped.
pub async fn messages_of_a_closed_receiver_come_again<Q: QueueSite>(site: &Q) {
    for closes in [true, false] {
        let scene = Scene::impatient(site).await;
        let [publisher, receiver] = scene.ends().await;
        scene.publish(&publisher, [1]).await;
        let mut held = vec![scene.next(&receiver).await];
        // If keys have an order, a held message may hold up another message, or come behind it.
        if scene.abilities().ordering != bertha_queues::Ordering::ByKey {
            scene.publish(&publisher, [2]).await;
            // On a slow machine, the time after which the first message comes again may be over before.
            loop {
                let message = scene.next(&receiver).await;
                match number(&message) {
                    1 => held.push(message),
                    other => break assert_eq!(other, 2),
                }
            }
            scene.succeeds("drain", receiver.drain()).await;
        }
        if closes {
            scene.succeeds("close", receiver.close()).await;
        }
        drop(receiver);
        // The drop comes too late.
        drop(held);
        let other = scene.receiver("all").await;
        assert_eq!(number(&scene.next(&other).await), 1, "what was acknowledged came again");
        scene.end().await;
    }
}

/// "A message that is not acknowledged, because the process was killed [...], is delivered again, to any receiver of the subscription."
pub async fn messages_of_a_killed_receiver_come_again<Q: QueueSite>(site: &Q) {
    let scene = Scene::impatient(site).await;
    // The subscription has to exist before the messages.
    let [publisher, receiver] = scene.ends().await;
    scene.succeeds("close", receiver.close()).await;
    drop(receiver);
    scene.publish(&publisher, 0..10).await;
    scene.soon("a killed receiver", site.kill_a_receiver(scene.topic.name(), "all", 5)).await;
    let other = scene.receiver("all").await;
    scene.receive(&other, 10).await;
    scene.end().await;
}

/// Makes the work on `message` fail.
pub(super) fn fail(message: Buf) {
    let work = std::thread::spawn(move || {
        let _message = message;
        // The panic is not reported: it is intended.
        std::panic::resume_unwind(Box::new("the work on a message failed"));
    });
    assert!(work.join().is_err());
}
