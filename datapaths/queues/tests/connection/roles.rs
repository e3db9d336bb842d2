//! The roles of an end, and its errors for calls of other roles.

use super::{buf, ends, publish, receive};
use bertha_core::guarantee::{AtMostOnce, Ordered, Reliable, Set};
use bertha_core::{Base, Buf, Connection, Describe, ErrorKind, Identity, Wrap, make_stack};
use bertha_core::{Carries, Chunnel, ConnectContext, Error};
use bertha_queues::{MemoryQueue, Ordering, QueueSettings, Role, Topic};

#[tokio::test(start_paused = true)]
async fn a_call_for_the_other_role_says_how_to_get_it() {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let error = publisher.recv().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(
        error.context(),
        "this end only publishes to topic `topic`; open it with Topic::receiver or Topic::endpoint"
    );
    let error = receiver.send(buf(1)).await.unwrap_err();
    assert!(error.context().ends_with("open it with Topic::publisher or Topic::endpoint"), "{error}");
    let both = Topic::new(service, "topic").acknowledge_by_dropping().endpoint("mine").await.unwrap();
    assert_eq!(
        [publisher.role(), receiver.role(), both.role()],
        [Role::Publisher, Role::Receiver, Role::Both]
    );
    both.send(buf(2)).await.unwrap();
    assert_eq!(both.recv().await.unwrap()[0], 2);
    assert_eq!(receiver.recv().await.unwrap()[0], 2);
}

#[tokio::test(start_paused = true)]
async fn subscriptions_get_every_message_where_there_is_multicast() {
    let topic = Topic::new(MemoryQueue::new().without_multicast(), "topic");
    topic.create().await.unwrap();
    let _first = topic.receiver("a").await.unwrap();
    let _shares = topic.receiver("a").await.unwrap();
    let error = topic.receiver("b").await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_topic_that_is_not_there_is_an_error() {
    let topic = Topic::new(MemoryQueue::new(), "nothing");
    assert_eq!(topic.publisher().await.map(drop).unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test(start_paused = true)]
async fn too_large_a_message_names_the_way_out_and_leaves_the_rest_of_its_burst() {
    let (publisher, receiver) = ends(&MemoryQueue::new().max_message(8), QueueSettings::default()).await;
    assert_eq!((publisher.mtu(), publisher.base().buffer(3).unwrap().len()), (8, 3));
    let mut burst = [buf(1), Buf::new(9, 0).unwrap(), buf(2)].into_iter();
    let error = publisher.send_batch(&mut burst).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.context().contains("Fragment"), "{error}");
    publisher.send_batch(burst).await.unwrap();
    assert_eq!(super::bytes(&receive(&receiver, 9).await), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_burst_that_is_refused_as_too_large_is_tried_one_by_one() {
    let service = MemoryQueue::new();
    service.refuse_calls_above(30);
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let message = |len: usize| Buf::copy_of(&vec![len as u8; len], 0).unwrap();
    let burst = [message(20), message(11), message(31), message(5)];
    let error = publisher.send_batch(burst.into_iter()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert_eq!(super::bytes(&receive(&receiver, 9).await), [20, 11, 5]);
    // One call for all, and one for each.
    assert_eq!(publisher.calls().publish, 5);
}

#[tokio::test(start_paused = true)]
async fn a_burst_fills_the_calls_of_the_service() {
    let (publisher, receiver) = ends(&MemoryQueue::new(), QueueSettings::default()).await;
    publish(&publisher, 0..25).await;
    assert_eq!(publisher.calls().publish, 3);
    let mut received = Vec::new();
    while received.len() < 25 {
        received.extend(receive(&receiver, 100).await);
    }
    assert_eq!(super::bytes(&received), Vec::from_iter(0..25));
    assert_eq!(receiver.calls().receive, 3);
}

#[derive(Debug, Clone, Copy, Identity)]
#[chunnel(needs = Self::needs)]
struct Needs(Set);

impl Needs {
    fn needs(&self) -> Set {
        self.0
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Needs {
    type Connection = Inner;

    async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Inner, Error> {
        Ok(inner)
    }
}

#[tokio::test(start_paused = true)]
async fn a_stack_gets_what_the_topic_can_do_and_no_more() {
    let can = async |ordering, needs: Set| {
        let (publisher, _) = ends(&MemoryQueue::new().ordering(ordering), QueueSettings::default()).await;
        let stack = make_stack!(Needs(needs));
        assert!(!stack.nodes().is_empty());
        stack.wrap(publisher).await.map(drop)
    };
    for ordering in [Ordering::None, Ordering::ByKey, Ordering::OneReceiver] {
        can(ordering, Set::of::<Reliable>()).await.unwrap();
        assert_eq!(can(ordering, Set::of::<AtMostOnce>()).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    can(Ordering::OneReceiver, Set::of::<Ordered>()).await.unwrap();
    for ordering in [Ordering::None, Ordering::ByKey] {
        assert_eq!(can(ordering, Set::of::<Ordered>()).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
}
