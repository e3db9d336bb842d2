//! The longest messages.

use super::QueueSite;
use super::scene::Scene;
use bertha_core::{Buf, Connection, ErrorKind};

/// Bound on the lengths that are tried: some services allow 2 GB.
const ENOUGH: usize = 2 << 20;

/// The longest message arrives. A longer message is an error that names the limit and the way out, and
/// concerns only this message.
pub async fn too_large_a_message_is_named<Q: QueueSite>(site: &Q) {
    let scene = Scene::usual(site).await;
    let [publisher, receiver] = scene.ends().await;
    let most = publisher.mtu();
    assert_eq!(most, scene.abilities().max_message);
    if most <= ENOUGH {
        let mut longest = Buf::new(most, 0).unwrap();
        // The message has bytes of every value, so that an encoding is as long as it can get.
        longest.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 31 % 251) as u8);
        let sent = longest.to_vec();
        scene.succeeds("send of the longest message", publisher.send(longest)).await;
        assert!(*scene.next(&receiver).await == *sent, "the longest message was changed");
        let too_long = Buf::new(most + 1, 0).unwrap();
        let error = scene.soon("send", publisher.send(too_long)).await.expect_err("too large a message");
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        for part in ["Fragment", &most.to_string()] {
            assert!(error.context().contains(part), "the error does not name {part}: {error}");
        }
    }
    scene.publish(&publisher, [1]).await;
    assert_eq!(super::scene::number(&scene.next(&receiver).await), 1);
    scene.end().await;
}
