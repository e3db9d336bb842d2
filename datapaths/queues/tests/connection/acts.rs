//! A message is acknowledged by an act, through every layer, and comes again otherwise.

use super::buf;
use bertha_chunnels::serialize::Serialize;
use bertha_chunnels::{
    AtMostOnce, AtMostOnceByPublisher, Batch, Checksum, Compress, Fragment, Nagle, Ordered, ReceiverOrdered,
    Rpc, SequencerOrdered,
};
use bertha_core::{Buf, Connection, ErrorKind, Statistics, Wrap, make_stack};
use bertha_queues::{MemoryQueue, QueueConnection, QueueStatistics, Topic};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

const MS: Duration = Duration::from_millis(1);

async fn ends(service: &MemoryQueue) -> [QueueConnection<MemoryQueue>; 2] {
    let topic = Topic::new(service.clone(), "topic");
    topic.create().await.unwrap();
    let receiver = topic.receiver("all").await.unwrap();
    [topic.publisher().await.unwrap(), receiver]
}

/// Returns the time that the next message takes.
async fn arrival(receiver: &QueueConnection<MemoryQueue>) -> (Duration, Buf) {
    let start = Instant::now();
    let message = receiver.recv().await.unwrap();
    (start.elapsed(), message)
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_done_is_gone() {
    let service = MemoryQueue::new();
    let [publisher, receiver] = ends(&service).await;
    publisher.send(buf(7)).await.unwrap();
    receiver.recv().await.unwrap().done();
    receiver.drain().await.unwrap();
    assert_eq!(service.kept("topic", "all"), 0);
    assert_eq!((receiver.calls().acknowledge, receiver.calls().give_back), (1, 0));
}

/// A receiver that fails at each message does not use up the deliveries of a message within a moment.
#[tokio::test(start_paused = true)]
async fn a_message_that_is_dropped_comes_again_after_a_pause_that_grows() {
    let [publisher, receiver] = ends(&MemoryQueue::new()).await;
    publisher.send(buf(7)).await.unwrap();
    drop(arrival(&receiver).await);
    for pause in [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000] {
        let (after, message) = arrival(&receiver).await;
        assert!((pause..pause + 600).contains(&(after.as_millis() as u64)), "{after:?}, not {pause} ms");
        drop(message);
    }
    arrival(&receiver).await.1.done();
    publisher.send(buf(8)).await.unwrap();
    drop(arrival(&receiver).await);
    // The receiver works again.
    assert!(arrival(&receiver).await.0 < 700 * MS);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_given_back_comes_again_at_once() {
    let [publisher, receiver] = ends(&MemoryQueue::new()).await;
    publisher.send(buf(7)).await.unwrap();
    for _ in 0..5 {
        let (after, message) = arrival(&receiver).await;
        assert!(after <= 10 * MS, "{after:?}");
        message.give_back();
    }
}

/// The ways in which the work on a message ends early.
#[tokio::test(start_paused = true)]
async fn work_that_is_given_up_loses_nothing() {
    let service = MemoryQueue::new();
    let [publisher, receiver] = ends(&service).await;
    publisher.send(buf(7)).await.unwrap();
    let work = async |message: Buf, time: Duration| {
        sleep(time).await;
        message.done();
    };
    // An aborted task.
    let message = receiver.recv().await.unwrap();
    let task = tokio::spawn(async move { work(message, Duration::from_secs(9)).await });
    sleep(MS).await;
    task.abort();
    // A time limit.
    let message = receiver.recv().await.unwrap();
    assert!(timeout(MS, work(message, Duration::from_secs(9))).await.is_err());
    // A `select!` that another branch wins.
    let message = receiver.recv().await.unwrap();
    tokio::select! {
        () = work(message, Duration::from_secs(9)) => panic!("the work was shorter"),
        () = sleep(MS) => {}
    }
    // An early return.
    let message = receiver.recv().await.unwrap();
    let failing = async move {
        let number = std::str::from_utf8(&message)?.parse::<u8>()?;
        message.done();
        Ok::<_, Box<dyn std::error::Error>>(number)
    };
    failing.await.unwrap_err();
    // A panic of a task.
    let message = receiver.recv().await.unwrap();
    let task = tokio::spawn(async move {
        let _message = message;
        std::panic::resume_unwind(Box::new("the work failed"));
    });
    assert!(task.await.unwrap_err().is_panic());
    // Work that ends well.
    let message = receiver.recv().await.unwrap();
    assert_eq!(message[0], 7);
    work(message, MS).await;
    receiver.drain().await.unwrap();
    assert_eq!(service.kept("topic", "all"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_act_after_the_end_of_the_connection_comes_too_late() {
    let service = MemoryQueue::new();
    let [publisher, receiver] = ends(&service).await;
    publisher.send(buf(7)).await.unwrap();
    let message = receiver.recv().await.unwrap();
    receiver.close().await.unwrap();
    message.done();
    assert_eq!(service.kept("topic", "all"), 1);
}

/// Of two messages over a stack, the second is dropped, arrives again, and then is done.
macro_rules! through {
    ($($stack:expr),+ $(,)?) => {$({
        let service = MemoryQueue::new();
        let [publisher, receiver] = ends(&service).await;
        let publisher = make_stack!($stack).wrap(publisher).await.unwrap();
        let receiver = make_stack!($stack).wrap(receiver).await.unwrap();
        let long = |byte: u8| Buf::copy_of(&[byte; 5_000], 64).unwrap();
        let stack = stringify!($stack);
        publisher.send(long(1)).await.unwrap();
        publisher.drain().await.unwrap();
        let first = receiver.recv().await.unwrap();
        assert_eq!((first[0], first.len()), (1, 5_000), "{stack}");
        assert!(service.kept("topic", "all") > 0, "{stack}: acknowledged before the work");
        first.done();
        receiver.drain().await.unwrap();
        assert_eq!(service.kept("topic", "all"), 0, "{stack}");
        publisher.send(long(2)).await.unwrap();
        publisher.drain().await.unwrap();
        let second = receiver.recv().await.unwrap();
        assert_eq!(second[0], 2);
        drop(second);
        // The later message does not keep the returned message from its receiver.
        publisher.send(long(3)).await.unwrap();
        publisher.drain().await.unwrap();
        let mut left = vec![2, 3];
        while !left.is_empty() {
            let message = receiver.recv().await.unwrap();
            let place = left.iter().position(|byte| *byte == message[0]);
            left.remove(place.unwrap_or_else(|| panic!("{stack}: {} came, not {left:?}", message[0])));
            message.done();
        }
        receiver.drain().await.unwrap();
        assert_eq!(service.kept("topic", "all"), 0, "{stack}");
    })+};
}

#[tokio::test(start_paused = true)]
async fn a_dropped_message_comes_again_through_every_layer() {
    through!(
        AtMostOnce,
        AtMostOnceByPublisher::new(),
        Batch::new(),
        Checksum,
        Compress::new(),
        Fragment::new().piece(1_000),
        Nagle::new(),
        Ordered::new(),
    );
    through!(make_stack!(
        Ordered::new(),
        Compress::new(),
        AtMostOnce,
        Fragment::new().piece(1_000),
        Batch::new()
    ));
}

#[tokio::test(start_paused = true)]
async fn typed_messages_keep_their_receipts() {
    let service = MemoryQueue::new();
    let [publisher, receiver] = ends(&service).await;
    let stack = || make_stack!(Serialize::<String>::new().with_receipts(), Compress::new());
    let (publisher, receiver) =
        (stack().wrap(publisher).await.unwrap(), stack().wrap(receiver).await.unwrap());
    let orders = ["a book", "a pen"].map(|order| order.to_string().into());
    publisher.send_batch(orders.into_iter()).await.unwrap();
    let mut received = Vec::new();
    while received.len() < 2 {
        receiver.recv_batch(&mut received, 9).await.unwrap();
    }
    let book = received.remove(0);
    assert_eq!((book.as_str(), received[0].len()), ("a book", 5));
    assert_eq!(book.done(), "a book");
    drop(received);
    let pen = receiver.recv().await.unwrap();
    assert_eq!(*pen, "a pen");
    pen.give_back();
    assert_eq!(receiver.recv().await.unwrap().done(), "a pen");
    receiver.drain().await.unwrap();
    assert_eq!(service.kept("topic", "all"), 0);
}

/// A repetition of a message that the application holds is not acknowledged before the message.
#[tokio::test(start_paused = true)]
async fn a_repetition_of_a_held_message_acknowledges_nothing() {
    let service = MemoryQueue::new().redelivery(Duration::from_secs(1));
    let [publisher, receiver] = ends(&service).await;
    let publisher = make_stack!(AtMostOnce).wrap(publisher).await.unwrap();
    let receiver = make_stack!(AtMostOnce).wrap(receiver).await.unwrap();
    publisher.send(buf(7)).await.unwrap();
    let held = receiver.recv().await.unwrap();
    assert!(timeout(Duration::from_secs(5), receiver.recv()).await.is_err());
    assert_eq!(service.kept("topic", "all"), 1);
    drop(held);
    assert_eq!(receiver.recv().await.unwrap()[0], 7);
}

#[tokio::test(start_paused = true)]
async fn a_layer_that_forgets_receipts_refuses_them_and_names_the_ways_out() {
    macro_rules! refuses {
        ($($stack:expr),+ $(,)?) => {$({
            let [_, receiver] = ends(&MemoryQueue::new()).await;
            let error = make_stack!($stack).wrap(receiver).await.map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            for way in ["with_receipts", "acknowledge_by_dropping"] {
                assert!(error.to_string().contains(way), "{error}");
            }
        })+};
    }
    refuses!(
        Serialize::<String>::new(),
        make_stack!(Rpc::new(), AtMostOnce),
        ReceiverOrdered::new(),
        SequencerOrdered::new(),
    );
}

fn told(connection: &QueueConnection<MemoryQueue>) -> QueueStatistics {
    let mut statistics = Statistics::default();
    connection.observe(&mut statistics);
    *statistics.get().unwrap()
}

#[tokio::test(start_paused = true)]
async fn messages_that_are_held_done_and_dropped_are_told() {
    let service = MemoryQueue::new();
    let [publisher, receiver] = ends(&service).await;
    publisher.send_batch((0..4).map(buf)).await.unwrap();
    assert_eq!((told(&publisher).calls.published, told(&publisher).held_messages), (4, 0));
    let mut messages = Vec::new();
    while messages.len() < 4 {
        receiver.recv_batch(&mut messages, 4).await.unwrap();
    }
    assert_eq!(told(&receiver).held_messages, 4);
    messages.pop().unwrap().done();
    drop(messages.pop());
    let now = told(&receiver);
    assert_eq!((now.held_messages, now.dropped, now.to_give_back), (2, 1, 1), "{now:?}");
    receiver.drain().await.unwrap();
    assert_eq!((told(&receiver).to_acknowledge, told(&receiver).calls.acknowledge), (0, 1));
}
