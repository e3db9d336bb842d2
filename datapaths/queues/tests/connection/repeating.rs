//! A restarted receiver, over a service that repeats messages without acknowledgement.

use super::{buf, ends};
use bertha_chunnels::AtMostOnceByPublisher;
use bertha_chunnels::at_most_once::FileMemory;
use bertha_core::{Connection, Wrap, make_stack};
use bertha_queues::{MemoryQueue, QueueSettings, Topic};
use std::path::Path;
use std::sync::Arc;

fn at_most_once(file: Option<&Path>) -> AtMostOnceByPublisher {
    let stack = AtMostOnceByPublisher::new();
    match file {
        Some(file) => stack.remembering(Arc::new(FileMemory::open(file).unwrap())),
        None => stack,
    }
}

/// Returns the message that a receiver gets after a restart. Its predecessor received the first of two
/// messages and did not acknowledge it.
async fn first_after_a_restart(file: Option<&Path>) -> u8 {
    let service = MemoryQueue::new();
    let (publisher, receiver) = ends(&service, QueueSettings::default()).await;
    let publisher = make_stack!(at_most_once(None)).wrap(publisher).await.unwrap();
    let receiver = make_stack!(at_most_once(file)).wrap(receiver).await.unwrap();
    publisher.send(buf(1)).await.unwrap();
    let held = receiver.recv().await.unwrap();
    assert_eq!(held[0], 1);
    // The receiver gives held messages back.
    receiver.close().await.unwrap();
    drop((receiver, held));
    assert_eq!(service.kept("topic", "all"), 1);

    let again = Topic::new(service.clone(), "topic").acknowledge_by_dropping().receiver("all").await.unwrap();
    let again = make_stack!(at_most_once(file)).wrap(again).await.unwrap();
    publisher.send(buf(2)).await.unwrap();
    let first = again.recv().await.unwrap()[0];
    again.close().await.unwrap();
    first
}

#[tokio::test]
async fn with_a_memory_in_a_file_a_restarted_receiver_gets_no_message_again() {
    let file = std::env::temp_dir().join(format!("bertha-repeating-{}", std::process::id()));
    let with_a_file = first_after_a_restart(Some(&file)).await;
    std::fs::remove_file(&file).unwrap();
    assert_eq!(with_a_file, 2);
    // The service repeats the message, and a memory that ended with its process does not recognise it.
    assert_eq!(first_after_a_restart(None).await, 1);
}
