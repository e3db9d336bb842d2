//! Messages whose work always fails.

use super::QueueSite;
use super::redelivery::fail;
use super::scene::{Scene, message, number};
use bertha_core::Connection;
use std::time::Duration;

/// Number of deliveries of a message within which it must be put aside.
const MANY: usize = 25;

/// A message that fails again and again goes to the dead letters, if the service has them, and all other
/// messages arrive.
pub async fn a_message_that_always_fails_is_put_aside<Q: QueueSite>(site: &Q) {
    let scene = Scene::impatient(site).await;
    if !scene.abilities().dead_letters {
        return scene.end().await;
    }
    let [publisher, receiver] = scene.ends().await;
    scene.publish(&publisher, [13]).await;
    let aside = async {
        for _ in 0..MANY {
            let received = tokio::time::timeout(Duration::from_millis(500), receiver.recv()).await;
            if let Ok(message) = received {
                let message = message.unwrap_or_else(|error| panic!("recv: {error:?}"));
                assert_eq!(number(&message), 13);
                fail(message);
                scene.succeeds("drain", receiver.drain()).await;
            }
            let dead = site.dead_letters(scene.topic.name()).await;
            if !dead.is_empty() {
                assert_eq!(dead, [message(13).to_vec()]);
                return;
            }
        }
        panic!("a message that came {} times is not among the dead letters", receiver.calls().received);
    };
    scene.soon("dead letters", aside).await;
    scene.publish(&publisher, [14]).await;
    assert_eq!(number(&scene.next(&receiver).await), 14);
    scene.end().await;
}
