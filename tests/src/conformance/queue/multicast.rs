//! Several subscriptions of a topic.

use super::QueueSite;
use super::scene::{Scene, first_times};
use bertha_core::ErrorKind;
use futures_util::future::join3;

/// "Each of its subscriptions gets every message published after the subscription was created". If the
/// service has no multicast, the second subscription is `Unavailable`.
pub async fn every_subscription_gets_all<Q: QueueSite>(site: &Q) {
    let scene = Scene::usual(site).await;
    let first = scene.receiver("first").await;
    if !scene.abilities().multicast {
        let second = scene.soon("open another subscription", scene.topic.receiver("second")).await;
        let error = second.map(drop).expect_err("a second subscription without multicast");
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.context().len() > 20, "too short an error: {error}");
        return scene.end().await;
    }
    let second = scene.receiver("second").await;
    let publisher = scene.publisher().await;
    let count = scene.sizes.few;
    let (one, other, ()) = join3(
        scene.receive(&first, count),
        scene.receive(&second, count),
        scene.publish(&publisher, 0..count),
    )
    .await;
    assert_eq!((first_times(&one).len() as u64, first_times(&other).len() as u64), (count, count));
    scene.end().await;
}
