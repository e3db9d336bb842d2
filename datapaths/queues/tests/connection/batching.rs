//! Batches of the Chunnel `Batch`, each of which is a single message to the service, in virtual time.

use super::{buf, ends};
use bertha_chunnels::Batch;
use bertha_core::{Connection, Wrap, make_stack};
use bertha_queues::{MemoryQueue, QueueSettings};
use std::time::Duration;
use tokio::time::sleep;

#[tokio::test(start_paused = true)]
async fn a_batch_of_which_somebody_received_a_part_comes_again() {
    for closes in [true, false] {
        let service = MemoryQueue::new();
        let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
        let stack = make_stack!(Batch::new());
        let (publisher, receiver) =
            (stack.wrap(publisher).await.unwrap(), stack.wrap(receiver).await.unwrap());
        for number in 0..5 {
            publisher.send(buf(number)).await.unwrap();
        }
        publisher.drain().await.unwrap();
        assert_eq!(service.kept("topic", "all"), 1);
        // The message is the first of five.
        assert_eq!(receiver.recv().await.unwrap()[0], 0);
        if closes {
            receiver.close().await.unwrap();
        }
        drop(receiver);
        // Acknowledgements wait no longer than this.
        sleep(Duration::from_secs(1)).await;
        assert_eq!(service.kept("topic", "all"), 1, "closes: {closes}");
    }
}
