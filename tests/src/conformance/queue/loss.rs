//! Messages arrive whole.

use super::QueueSite;
use super::scene::{Scene, first_times};
use bertha_core::{Buf, Connection};
use futures_util::future::{join, join3};

/// "A message is [...] the bytes as they were published": bytes of every value, and no bytes.
pub async fn every_byte_survives<Q: QueueSite>(site: &Q) {
    let scene = Scene::usual(site).await;
    let [publisher, receiver] = scene.ends().await;
    for bytes in [&(0..=255).collect::<Vec<u8>>()[..], &[0], &[0xff; 1000], b"\r\n\0<&>\"", &[]] {
        let sent = Buf::copy_of(bytes, 0).unwrap();
        scene.succeeds("send", publisher.send(sent)).await;
        assert_eq!(&*scene.next(&receiver).await, bytes);
    }
    scene.end().await;
}

/// Of many messages, from two publishers in bursts to two receivers, no message is lost; and each is
/// acknowledged, so that none is delivered again.
pub async fn no_message_is_lost<Q: QueueSite>(site: &Q) {
    let scene = Scene::usual(site).await;
    let [publisher, receiver] = scene.ends().await;
    let another = scene.publisher().await;
    let count = scene.sizes.messages;
    let (even, odd) = ((0..count).step_by(2), (1..count).step_by(2));
    let (came, ..) =
        join3(scene.receive(&receiver, count), scene.publish(&publisher, even), scene.publish(&another, odd))
            .await;
    assert_eq!(first_times(&came).len() as u64, count);
    scene.succeeds("close", receiver.close()).await;
    let calls = receiver.calls();
    assert_eq!(calls.unacknowledged, 0, "{calls:?}");
    assert_eq!(calls.received, came.len() as u64, "messages were received and not handed out");
    // Bursts are used, in all directions.
    let batches = scene.abilities();
    let most = |batch: usize| count.div_ceil(batch.min(4) as u64) + count / 4;
    assert!(publisher.calls().publish <= most(batches.publish_batch), "{:?}", publisher.calls());
    assert!(calls.acknowledge <= most(batches.acknowledge_batch).max(2 * calls.receive), "{calls:?}");
    let again = scene.receiver("all").await;
    scene.publish(&publisher, [count]).await;
    assert_eq!(super::scene::number(&scene.next(&again).await), count, "a message that was acknowledged");
    let (sent, received) = join(publisher.close(), again.close()).await;
    assert!(sent.is_ok() && received.is_ok(), "{sent:?} {received:?}");
    scene.end().await;
}
