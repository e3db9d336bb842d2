//! Services that throttle calls.

use super::scene::{Scene, number};
use super::{QueueSite, Throttled};
use bertha_core::{Connection, ErrorKind};
use futures_util::future::join;
use std::time::Duration;

/// Throttled calls are repeated after pauses, until they succeed, in each direction. If the service stays
/// throttled, the calls fail as throttled, after few attempts.
pub async fn throttling_is_met_with_pauses<Q: QueueSite>(site: &Q) {
    let Some(Throttled { service, throttle }) = site.throttled().await else { return };
    let mut settings = site.settings();
    settings.retry_pause = Duration::from_millis(20);
    let scene = Scene::<Q>::with_settings(site, service, settings).await;
    let [publisher, receiver] = scene.ends().await;
    throttle(5);
    scene.publish(&publisher, [1]).await;
    let calls = publisher.calls();
    assert!(calls.publish > 1, "the service was not asked again by the connection: {calls:?}");
    throttle(5);
    assert_eq!(number(&scene.next(&receiver).await), 1);
    throttle(5);
    scene.succeeds("drain", receiver.drain()).await;
    assert_eq!(receiver.calls().unacknowledged, 0, "{:?}", receiver.calls());
    // A receiver that had acknowledged before has made no call.
    throttle(0);
    // The calls are throttled for as long as they are repeated.
    let mut settings = site.settings();
    settings.retry_pause = Duration::from_millis(20);
    settings.retry_for = Duration::from_secs(1);
    let topic = scene.topic.clone().settings(settings);
    let publisher = scene.succeeds("open a publisher", topic.publisher()).await;
    let receiver = scene.succeeds("open a receiver", topic.receiver("all")).await;
    throttle(usize::MAX);
    let calls = join(publisher.send(super::scene::message(2)), receiver.recv());
    let (sent, received) = scene.soon("calls that are throttled for ever", calls).await;
    throttle(0);
    for error in [sent.expect_err("a throttled send"), received.expect_err("a throttled recv")] {
        assert_eq!(error.kind(), ErrorKind::Exhausted, "{error:?}");
    }
    // The pauses in a second are 20 ms, 40 ms, .., each less at most a half.
    let calls = (publisher.calls().publish, receiver.calls().receive);
    assert!((2..=10).contains(&calls.0) && (2..=10).contains(&calls.1), "{calls:?} calls in a second");
    scene.end().await;
}
