//! Order by key.

use super::{buf, bytes, ends, receive};
use bertha_core::{ErrorKind, OrdersByKey};
use bertha_queues::{MemoryQueue, Ordering, QueueSettings};

#[tokio::test(start_paused = true)]
async fn a_key_is_at_one_receiver_at_a_time() {
    let service = MemoryQueue::new().ordering(Ordering::ByKey);
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let (_, other) = ends(&service, QueueSettings::default()).await;
    publisher.keeps_order_by_key().unwrap();
    let burst = (0..6).map(|number| (u64::from(number % 2), buf(number)));
    publisher.send_batch_by_key(burst).await.unwrap();
    publisher.send_by_key(2, buf(6)).await.unwrap();
    let first = receive(&receiver, 1).await;
    assert_eq!(bytes(&first), [0]);
    assert_eq!(bytes(&receive(&other, 9).await), [1, 3, 5, 6]);
    drop(first);
    assert_eq!(bytes(&receive(&other, 9).await), [2, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_topic_without_order_by_key_names_both_ways_out() {
    for ordering in [Ordering::None, Ordering::OneReceiver] {
        let service = MemoryQueue::new().ordering(ordering);
        let (publisher, _) = ends(&service, QueueSettings::default()).await;
        let error = publisher.keeps_order_by_key().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.context().contains("an ordered queue that keeps order by key"), "{error}");
        assert!(error.context().contains("OrderedByKey at the single receiver"), "{error}");
        assert_eq!(publisher.send_by_key(1, buf(1)).await.unwrap_err().kind(), ErrorKind::Invalid);
        let burst = [(1, buf(1))].into_iter();
        assert_eq!(publisher.send_batch_by_key(burst).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
}
