//! Calls that the Chunnel `Nagle` saves, in virtual time.

use super::{buf, ends};
use bertha_chunnels::Nagle;
use bertha_core::{Connection, Wrap, make_stack};
use bertha_queues::{Calls, MemoryQueue, QueueSettings};
use std::time::Duration;
use tokio::time::{Instant, sleep};

const COUNT: u8 = 100;

/// Returns the calls of both ends for messages with this pause between them.
async fn calls(pause: Duration) -> [Calls; 2] {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let stack = make_stack!(Nagle::new().wait(Duration::from_millis(25)));
    let (publisher, receiver) = (stack.wrap(publisher).await.unwrap(), stack.wrap(receiver).await.unwrap());
    let send = async {
        for number in 0..COUNT {
            publisher.send(buf(number)).await.unwrap();
            sleep(pause).await;
        }
        publisher.drain().await.unwrap();
    };
    let receive = async {
        for number in 0..COUNT {
            assert_eq!(receiver.recv().await.unwrap()[0], number);
        }
        receiver.drain().await.unwrap();
    };
    futures_util::join!(send, receive);
    assert_eq!(service.kept("topic", "all"), 0);
    [publisher.inner().calls(), receiver.inner().calls()]
}

#[tokio::test(start_paused = true)]
async fn a_hundred_messages_take_fewer_calls_of_each_kind() {
    // A burst has the messages of 25 milliseconds: 3 and 2 messages.
    for (pause, most) in [(10, 34), (20, 50)] {
        let [sent, received] = calls(Duration::from_millis(pause)).await;
        assert_eq!((sent.published, received.received), (100, 100));
        for kind in [sent.publish, received.receive, received.acknowledge] {
            assert!(kind <= most, "{kind} calls of a kind with {pause} ms: {sent:?} {received:?}");
        }
    }
}

/// Without a time to wait, a message is sent at once, and messages that come while it is on its way are sent
/// together.
#[tokio::test(start_paused = true)]
async fn a_message_waits_only_for_the_call_before_it() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let publisher = make_stack!(Nagle::new()).wrap(publisher).await.unwrap();
    let start = Instant::now();
    publisher.send(buf(0)).await.unwrap();
    assert_eq!(receiver.recv().await.unwrap()[0], 0);
    assert_eq!(start.elapsed(), Duration::ZERO);
    receiver.drain().await.unwrap();
    // The next call is repeated after at least 25 milliseconds.
    service.throttle(1);
    for number in 1..6 {
        publisher.send(buf(number)).await.unwrap();
        sleep(Duration::from_millis(5)).await;
    }
    publisher.drain().await.unwrap();
    let calls = publisher.inner().calls();
    assert_eq!((calls.publish, calls.published), (4, 6));
}

/// A burst that the service does not accept yet is still being sent, although none of its messages waits in
/// the Chunnel any more.
#[tokio::test(start_paused = true)]
async fn draining_waits_for_the_burst_that_is_being_sent() {
    let service = MemoryQueue::new();
    let (publisher, _receiver) = ends(&service, QueueSettings::default()).await;
    let publisher = make_stack!(Nagle::new().wait(Duration::ZERO)).wrap(publisher).await.unwrap();
    service.throttle(3);
    for number in 0..3 {
        publisher.send(buf(number)).await.unwrap();
    }
    // The task has begun to send.
    sleep(Duration::from_millis(1)).await;
    publisher.drain().await.unwrap();
    assert_eq!(service.kept("topic", "all"), 3);
}

#[tokio::test(start_paused = true)]
async fn messages_that_nobody_received_come_again() {
    for closes in [true, false] {
        let service = MemoryQueue::new();
        let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
        let (_, other) = ends(&service, QueueSettings::default()).await;
        super::publish(&publisher, 0..5).await;
        let receiver = make_stack!(Nagle::new()).wrap(receiver).await.unwrap();
        // The message is the first of five received messages.
        assert_eq!(receiver.recv().await.unwrap()[0], 0);
        receiver.inner().drain().await.unwrap();
        if closes {
            receiver.close().await.unwrap();
        }
        drop(receiver);
        assert_eq!(super::bytes(&super::receive(&other, 9).await), [1, 2, 3, 4]);
    }
}
