//! Messages that are longer than the service accepts, in pieces.

use super::ends;
use bertha_chunnels::Fragment;
use bertha_core::{Buf, Connection, Wrap, make_stack};
use bertha_queues::{MemoryQueue, QueueSettings, Topic};
use futures_util::future::join;

/// Length of each message in bytes, six times as long as the service accepts.
const LENGTH: usize = 1200;

fn long(byte: u8) -> Buf {
    Buf::copy_of(&[byte; LENGTH], 0).unwrap()
}

/// The pieces of the two messages lie in the topic in turn.
#[tokio::test(start_paused = true)]
async fn long_messages_of_two_publishers_reach_the_single_receiver_whole() {
    let service = MemoryQueue::new().max_message(LENGTH / 6);
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let other = Topic::new(service.clone(), "topic").publisher().await.unwrap();
    let stack = || make_stack!(Fragment::new());
    let (publisher, other) = (stack().wrap(publisher).await.unwrap(), stack().wrap(other).await.unwrap());
    let receiver = stack().wrap(receiver).await.unwrap();
    for round in 0..10 {
        let (sent, other_sent) = join(publisher.send(long(round)), other.send(long(100 + round))).await;
        sent.and(other_sent).unwrap();
        let mut received = Vec::new();
        for _ in 0..2 {
            let message = receiver.recv().await.unwrap();
            assert_eq!(*message, [message[0]; LENGTH], "pieces of two messages as one");
            received.push(message[0]);
        }
        received.sort_unstable();
        assert_eq!(received, [round, 100 + round]);
    }
    assert_eq!((receiver.abandoned(), receiver.malformed()), (0, 0));
    receiver.close().await.unwrap();
    assert_eq!(service.kept("topic", "all"), 0);
}
