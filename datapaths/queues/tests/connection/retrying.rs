//! Temporary errors lead to repetitions.

use super::{buf, ends, publish};
use bertha_core::{Connection, ErrorKind};
use bertha_queues::{MemoryQueue, QueueSettings, Topic};
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn throttled_calls_are_repeated_with_growing_pauses() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    service.throttle(6);
    let start = Instant::now();
    publisher.send(buf(1)).await.unwrap();
    assert_eq!(publisher.calls().publish, 7);
    // The pauses are 50 ms, 100 ms, .., 1600 ms, each less at most a half.
    let waited = start.elapsed().as_millis();
    assert!((1575..=3160).contains(&waited), "{waited} ms");
    service.throttle(6);
    assert_eq!(receiver.recv().await.unwrap()[0], 1);
    assert_eq!(receiver.calls().receive, 7);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_away_for_too_long_is_an_error_and_one_that_comes_back_none() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    service.set_away(true);
    let (sent, received) = futures_util::join!(publisher.send(buf(1)), receiver.recv());
    for error in [sent.unwrap_err(), received.map(drop).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unreachable);
        assert!(error.context().contains("given up after"), "{error}");
    }
    let calls = publisher.calls().publish;
    assert!((10..30).contains(&calls), "{calls} calls");
    let back = async {
        sleep(Duration::from_secs(10)).await;
        service.set_away(false);
    };
    let (sent, received, ()) = futures_util::join!(publisher.send(buf(2)), receiver.recv(), back);
    sent.unwrap();
    assert_eq!(received.unwrap()[0], 2);
}

#[tokio::test(start_paused = true)]
async fn refused_credentials_are_an_error_at_once() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    service.set_refusing(true);
    for error in [publisher.send(buf(1)).await.unwrap_err(), receiver.recv().await.map(drop).unwrap_err()] {
        assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Unauthenticated, Some("MemoryQueue")));
        assert!(error.context().contains("credentials"), "{error}");
    }
    assert_eq!((publisher.calls().publish, receiver.calls().receive), (1, 1));
    let opened = Topic::new(service.clone(), "topic").publisher().await;
    assert_eq!(opened.map(drop).unwrap_err().kind(), ErrorKind::Unauthenticated);
    service.set_refusing(false);
    publish(&publisher, [3]).await;
    assert_eq!(receiver.recv().await.unwrap()[0], 3);
}
