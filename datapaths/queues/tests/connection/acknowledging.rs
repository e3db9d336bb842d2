//! A message is acknowledged when its buffer is dropped, and given back when it can't be.

use super::{buf, bytes, ends, publish, receive};
use bertha_core::Connection;
use bertha_queues::{MemoryQueue, Ordering, QueueSettings};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

#[tokio::test(start_paused = true)]
async fn each_message_takes_three_calls_one_by_one() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    for number in 0..5 {
        publisher.send(buf(number)).await.unwrap();
        assert_eq!(receiver.recv().await.unwrap()[0], number);
        receiver.drain().await.unwrap();
    }
    let (sent, received) = (publisher.calls(), receiver.calls());
    assert_eq!([sent.publish, received.receive, received.acknowledge, received.give_back], [5, 5, 5, 0]);
    assert_eq!(
        (sent.published, sent.published_bytes, received.received, received.received_bytes),
        (5, 5, 5, 5)
    );
    assert_eq!(service.kept("topic", "all"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_burst_takes_one_call_of_each_kind() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    publish(&publisher, 0..10).await;
    let burst = receive(&receiver, 100).await;
    assert_eq!(bytes(&burst), Vec::from_iter(0..10));
    drop(burst);
    receiver.drain().await.unwrap();
    let (sent, received) = (publisher.calls(), receiver.calls());
    assert_eq!([sent.publish, received.receive, received.acknowledge], [1, 1, 1]);
    assert_eq!(service.kept("topic", "all"), 0);
}

/// A receiver of bursts needs fewer calls to acknowledge than to receive, unless messages wait for the
/// acknowledgement.
#[tokio::test(start_paused = true)]
async fn acknowledgements_of_several_bursts_take_one_call() {
    for (ordering, calls) in [(Ordering::None, 1), (Ordering::ByKey, 5)] {
        let service = MemoryQueue::new().ordering(ordering);
        let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
        for number in 0..5 {
            publish(&publisher, [number]).await;
            assert_eq!(bytes(&receive(&receiver, 10).await), [number]);
            sleep(Duration::from_millis(15)).await;
        }
        receiver.drain().await.unwrap();
        assert_eq!(receiver.calls().acknowledge, calls);
        assert_eq!(service.kept("topic", "all"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn while_one_message_is_held_the_others_are_acknowledged_after_the_delay() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    publish(&publisher, 0..3).await;
    let mut burst = receive(&receiver, 3).await;
    let start = Instant::now();
    burst.truncate(1);
    while receiver.calls().acknowledge == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(start.elapsed().as_millis(), 101);
    assert_eq!(service.kept("topic", "all"), 1);
}

#[tokio::test(start_paused = true)]
async fn every_part_of_a_message_holds_it() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    publisher.send(bertha_core::Buf::copy_of(b"head and tail", 0).unwrap()).await.unwrap();
    let mut tail = receiver.recv().await.unwrap();
    drop(tail.split_to(4).unwrap());
    sleep(Duration::from_secs(1)).await;
    assert_eq!(service.kept("topic", "all"), 1);
    drop(tail);
    receiver.drain().await.unwrap();
    assert_eq!(service.kept("topic", "all"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_work_panics_comes_again() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    publish(&publisher, [7]).await;
    let message = receiver.recv().await.unwrap();
    let work = std::thread::spawn(move || {
        let _message = message;
        std::panic::resume_unwind(Box::new("the work failed"));
    });
    assert!(work.join().is_err());
    assert_eq!(receiver.recv().await.unwrap()[0], 7);
    assert_eq!(receiver.calls().give_back, 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_always_fails_is_put_aside() {
    let service = MemoryQueue::new().dead_letters_after(3).redelivery(Duration::from_secs(1));
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    publish(&publisher, [1]).await;
    for _ in 0..3 {
        std::mem::forget(receiver.recv().await.unwrap());
    }
    assert!(timeout(Duration::from_secs(5), receiver.recv()).await.is_err());
    assert_eq!(service.dead_letters("topic"), [[1]]);
}

#[tokio::test(start_paused = true)]
async fn acknowledgements_that_the_service_does_not_take_are_repeated_and_then_counted() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    publish(&publisher, [1]).await;
    let message = receiver.recv().await.unwrap();
    service.throttle(4);
    drop(message);
    receiver.drain().await.unwrap();
    assert_eq!((receiver.calls().acknowledge, receiver.calls().unacknowledged), (5, 0));
    publish(&publisher, [2]).await;
    let message = receiver.recv().await.unwrap();
    service.set_away(true);
    drop(message);
    receiver.drain().await.unwrap();
    assert_eq!(receiver.calls().unacknowledged, 1);
    service.set_away(false);
    assert_eq!(receiver.recv().await.unwrap()[0], 2);
}
