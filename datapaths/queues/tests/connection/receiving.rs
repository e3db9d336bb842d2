//! The service is asked for messages while a caller waits for them.

use super::{bytes, ends, publish, receive};
use bertha_core::Connection;
use bertha_queues::{MemoryQueue, QueueSettings};
use futures_util::future::join_all;
use std::time::Duration;
use tokio::time::{sleep, timeout};

#[tokio::test(start_paused = true)]
async fn a_dropped_recv_leaves_its_message_to_the_next() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    assert!(timeout(Duration::from_secs(1), receiver.recv()).await.is_err());
    publish(&publisher, [1]).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(receiver.recv().await.unwrap()[0], 1);
    assert_eq!(receiver.calls().receive, 1);
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_costs_one_call_in_each_long_poll() {
    let service = MemoryQueue::new();
    let (_publisher, receiver) = ends(&service, QueueSettings::default()).await;
    assert!(timeout(Duration::from_secs(599), receiver.recv()).await.is_err());
    assert_eq!(receiver.calls().receive, 30);
    // No call is made while no caller waits, except for the call that has begun.
    sleep(Duration::from_secs(600)).await;
    assert_eq!(receiver.calls().receive, 30);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_does_not_wait_is_asked_after_pauses() {
    let service = MemoryQueue::new().without_waiting();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    assert!(timeout(Duration::from_secs(60), receiver.recv()).await.is_err());
    // The pauses are 10, 20, 40, .., 320 ms, and then half a second each.
    assert_eq!(receiver.calls().receive, 6 + 119);
    publish(&publisher, [1]).await;
    assert_eq!(receiver.recv().await.unwrap()[0], 1);
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_share_a_call() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let waiting = join_all((0..8).map(|_| receiver.recv()));
    let (received, ()) = futures_util::join!(waiting, async {
        sleep(Duration::from_secs(1)).await;
        publish(&publisher, 0..8).await;
    });
    let mut received: Vec<_> = received.into_iter().map(|message| message.unwrap()[0]).collect();
    received.sort_unstable();
    assert_eq!(received, Vec::from_iter(0..8));
    // The first caller asked for itself alone, or for all callers that were there.
    assert!(receiver.calls().receive <= 2, "{:?}", receiver.calls());
}

#[tokio::test(start_paused = true)]
async fn what_was_asked_for_ahead_is_there() {
    let service = MemoryQueue::new();
    let mut settings = QueueSettings::default();
    settings.prefetch = 5;
    let (publisher, receiver) = ends(&service, settings).await;
    publish(&publisher, 0..10).await;
    for number in 0..5 {
        assert_eq!(receiver.recv().await.unwrap()[0], number);
    }
    assert_eq!(receiver.calls().receive, 1);
    assert_eq!(bytes(&receive(&receiver, 2).await), [5, 6]);
    // Messages that were asked for ahead are returned before the service is asked for more.
    assert_eq!(bytes(&receive(&receiver, 9).await), [7, 8, 9]);
    assert_eq!(receiver.calls().receive, 2);
}
