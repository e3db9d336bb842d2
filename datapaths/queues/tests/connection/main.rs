//! Queue connections over the service in memory, in virtual time.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod acknowledging;
mod acts;
mod batching;
mod closing;
mod fragments;
mod keys;
mod nagling;
mod receiving;
mod repeating;
mod retrying;
mod roles;

use bertha_core::{Buf, Connection};
use bertha_queues::{MemoryQueue, QueueConnection, QueueSettings, Topic};

/// Returns a publisher, and the only receiver, of a topic. The receiver acknowledges by dropping.
async fn ends(
    service: &MemoryQueue,
    settings: QueueSettings,
) -> (QueueConnection<MemoryQueue>, QueueConnection<MemoryQueue>) {
    let topic = Topic::new(service.clone(), "topic").settings(settings).acknowledge_by_dropping();
    topic.create().await.unwrap();
    let receiver = topic.receiver("all").await.unwrap();
    (topic.publisher().await.unwrap(), receiver)
}

fn buf(byte: u8) -> Buf {
    Buf::copy_of(&[byte], 0).unwrap()
}

async fn publish(publisher: &QueueConnection<MemoryQueue>, bytes: impl IntoIterator<Item = u8>) {
    let messages: Vec<_> = bytes.into_iter().map(buf).collect();
    publisher.send_batch(messages.into_iter()).await.unwrap();
}

async fn receive(receiver: &QueueConnection<MemoryQueue>, limit: usize) -> Vec<Buf> {
    let mut received = Vec::new();
    receiver.recv_batch(&mut received, limit).await.unwrap();
    received
}

fn bytes(messages: &[Buf]) -> Vec<u8> {
    messages.iter().map(|message| message[0]).collect()
}
