//! Calls whose futures are dropped.

use super::QueueSite;
use super::scene::{Scene, number};
use bertha_core::Connection;
use futures_util::future::join;
use std::collections::BTreeSet;
use std::time::Duration;

/// "Dropping the future of `recv` loses nothing": not even until the service delivers the message again.
pub async fn a_cancelled_recv_loses_nothing<Q: QueueSite>(site: &Q) {
    let scene = Scene::usual(site).await;
    let [publisher, receiver] = scene.ends().await;
    let count = scene.sizes.few;
    let receive = async {
        let mut came = BTreeSet::new();
        let mut patience = 0;
        while (came.len() as u64) < count {
            // The times range from hardly begun to almost ready.
            patience = (patience + 1) % 7;
            let received = tokio::time::timeout(Duration::from_millis(patience), receiver.recv()).await;
            if let Ok(message) = received {
                let number = number(&message.unwrap_or_else(|error| panic!("recv: {error:?}")));
                assert!(came.insert(number), "{number} came again");
            }
        }
    };
    let both = join(receive, scene.publish(&publisher, 0..count));
    scene.soon("messages between calls that were cancelled", both).await;
    scene.end().await;
}
