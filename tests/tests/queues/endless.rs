//! Messages of a service without a limit of deliveries.

use bertha_queues::{Outgoing, Publisher, Service, Subscription};
use std::time::Duration;

/// More deliveries than any service allows by default.
const DELIVERIES: usize = 8;

/// Number of calls within which these deliveries must happen.
const CALLS: usize = 100;

/// Without `dead_letters_after`, a message that always fails stays in its topic.
pub(crate) async fn a_message_is_delivered_again_and_again(service: impl Service) {
    let topic = format!("endless-{:016x}", rand::random::<u64>());
    service.create(&topic).await.unwrap();
    assert!(!service.abilities(&topic).dead_letters);
    let subscription = service.subscription(&topic, "all").await.unwrap();
    let publisher = service.publisher(&topic).await.unwrap();
    let unsent = publisher.publish(&[Outgoing { payload: b"a bomb", key: None, id: 1 }]).await.unwrap();
    assert!(unsent.is_empty(), "{unsent:?}");
    let mut deliveries = 0;
    for _ in 0..CALLS {
        for message in subscription.receive(1, Duration::from_millis(200)).await.unwrap() {
            assert_eq!(message.payload, b"a bomb");
            deliveries += 1;
            subscription.give_back(&[message.receipt]).await.unwrap();
        }
        if deliveries >= DELIVERIES {
            break;
        }
    }
    assert!(deliveries >= DELIVERIES, "the message came {deliveries} times in {CALLS} calls");
    subscription.close().await.unwrap();
    service.delete(&topic).await.unwrap();
}
