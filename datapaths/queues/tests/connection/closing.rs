//! The end of a connection.

use super::{buf, bytes, ends, publish, receive};
use bertha_core::{Connection, ErrorKind};
use bertha_queues::{MemoryQueue, QueueSettings};
use std::time::Duration;
use tokio::time::{Instant, sleep};

#[tokio::test(start_paused = true)]
async fn close_acknowledges_what_was_let_go_of_and_gives_the_rest_back() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let (_, other) = ends(&service, QueueSettings::default()).await;
    publish(&publisher, 0..3).await;
    let mut burst = receive(&receiver, 3).await;
    drop(burst.remove(1));
    receiver.close().await.unwrap();
    let calls = receiver.calls();
    assert_eq!([calls.acknowledge, calls.give_back], [1, 1]);
    assert_eq!(bytes(&receive(&other, 9).await), [0, 2]);
    // The drop comes too late for an acknowledgement.
    drop(burst);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(receiver.calls(), calls);
    assert_eq!(receiver.recv().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connection_gives_its_messages_back() {
    let service = MemoryQueue::new();
    let mut settings = QueueSettings::default();
    settings.prefetch = 3;
    let (publisher, receiver) = ends(&service, settings).await;
    let (_, other) = ends(&service, QueueSettings::default()).await;
    publish(&publisher, 0..3).await;
    let first = receiver.recv().await.unwrap();
    let start = Instant::now();
    drop(receiver);
    assert_eq!(bytes(&receive(&other, 9).await), [0, 1, 2]);
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(first);
}

#[tokio::test(start_paused = true)]
async fn close_ends_in_time_although_the_server_is_away() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    publish(&publisher, [1]).await;
    drop(receiver.recv().await.unwrap());
    service.set_away(true);
    let start = Instant::now();
    let error = receiver.close().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    assert_eq!(start.elapsed(), QueueSettings::default().close_timeout);
}

#[tokio::test(start_paused = true)]
async fn close_ends_calls_that_are_repeated() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    service.set_away(true);
    let close = async {
        sleep(Duration::from_secs(1)).await;
        publisher.close().await.unwrap();
        receiver.close().await.unwrap();
    };
    let (sent, received, ()) = futures_util::join!(publisher.send(buf(1)), receiver.recv(), close);
    assert_eq!(sent.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(received.unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_receiver_whose_runtime_ends_says_nothing_and_its_messages_come_again() {
    let service = MemoryQueue::new().redelivery(Duration::from_millis(20));
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let crashed = runtime();
    let held = crashed.block_on(async {
        let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
        publish(&publisher, [1]).await;
        (receiver.recv().await.unwrap(), receiver)
    });
    drop(crashed);
    runtime().block_on(async {
        let (_, other) = ends(&service, QueueSettings::default()).await;
        assert_eq!(other.recv().await.unwrap()[0], 1);
        // The task is gone, so the call waits for nothing.
        assert_eq!(held.1.close().await.unwrap_err().kind(), ErrorKind::TimedOut);
    });
}

/// A receiver that asks for ten messages, takes one and closes uses up no delivery of the nine others.
#[tokio::test(start_paused = true)]
async fn messages_that_nobody_has_seen_come_no_nearer_to_the_dead_letters() {
    let service = MemoryQueue::new().dead_letters_after(2);
    let settings = QueueSettings::default().prefetch(10);
    let (publisher, receiver) = ends(&service, settings.clone()).await;
    drop(receiver);
    publish(&publisher, 0..10).await;
    for number in 0..10 {
        let (_, receiver) = ends(&service, settings.clone()).await;
        assert_eq!(receiver.recv().await.unwrap()[0], number);
        receiver.close().await.unwrap();
    }
    assert_eq!((service.dead_letters("topic").len(), service.kept("topic", "all")), (0, 0));
}
