//! Empty queues.

use super::QueueSite;
use super::scene::{Scene, number};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// A receiver waits at an empty queue with few calls, and next to no computing, and the next message ends the
/// wait.
pub async fn an_empty_queue_is_waited_for<Q: QueueSite>(site: &Q) {
    let mut settings = site.settings();
    settings.long_poll = Duration::from_secs(1);
    let scene = Scene::<Q>::with_settings(site, site.service(site.orders()[0]).await, settings).await;
    let [publisher, receiver] = scene.ends().await;
    // Clients compute a little while they start up.
    scene.publish(&publisher, [1]).await;
    assert_eq!(number(&scene.next(&receiver).await), 1);
    let idle = scene.sizes.idle;
    let (before, computed) = (receiver.calls().receive, computed());
    scene.nothing_comes(&receiver, idle).await;
    let (calls, computed) = (receiver.calls().receive - before, self::computed().saturating_sub(computed));
    // A waiting service gets a call per second; a service that does not wait gets six calls with growing
    // pauses and then two per second.
    let most = 10 + 3 * idle.as_secs();
    assert!((1..=most).contains(&calls), "{calls} calls in {idle:?} in which there was nothing");
    assert!(computed < idle / 4, "{computed:?} of computing in {idle:?} in which there was nothing");
    // No call waits, so the service is not asked.
    let before = receiver.calls().receive;
    tokio::time::sleep(idle).await;
    assert!(receiver.calls().receive <= before + 1, "calls for nobody");
    scene.publish(&publisher, [2]).await;
    assert_eq!(number(&scene.next(&receiver).await), 2);
    scene.end().await;
}

/// Returns the processor time of this process.
fn computed() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
