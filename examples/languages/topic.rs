//! A topic of NATS or Redis, whose messages are acknowledged after the work.
//!
//! `topic work SERVER TOPIC NUMBER` works on this many messages, and `topic publish SERVER TOPIC TEXT..` publishes some; the server is
//! `nats://HOST:PORT` or `redis://HOST:PORT`.

use crate::Outcome;
#[cfg(feature = "nats")]
use bertha::queue::Nats;
#[cfg(feature = "redis-streams")]
use bertha::queue::RedisStreams;
use bertha::queue::{Service, Topic};
use bertha::{Base, Connection};

pub(crate) async fn work(server: &str, topic: &str, number: usize) -> Outcome {
    match server.split(':').next() {
        #[cfg(feature = "nats")]
        Some("nats") => work_on(Topic::new(Nats::connect(server).await?, topic), number).await,
        #[cfg(feature = "redis-streams")]
        Some("redis") => work_on(Topic::new(RedisStreams::connect(server).await?, topic), number).await,
        _ => Err("this build has no topics there".into()),
    }
}

pub(crate) async fn publish(server: &str, topic: &str, texts: &[&str]) -> Outcome {
    match server.split(':').next() {
        #[cfg(feature = "nats")]
        Some("nats") => publish_to(Topic::new(Nats::connect(server).await?, topic), texts).await,
        #[cfg(feature = "redis-streams")]
        Some("redis") => publish_to(Topic::new(RedisStreams::connect(server).await?, topic), texts).await,
        _ => Err("this build has no topics there".into()),
    }
}

async fn work_on(topic: Topic<impl Service>, number: usize) -> Outcome {
    topic.create().await?;
    let orders = topic.receiver("billing").await?;
    println!("ready");
    // Work that fails: a message that is dropped is delivered again.
    drop(orders.recv().await?);
    for _ in 0..number {
        let order = orders.recv().await?;
        println!("{}", String::from_utf8_lossy(&order));
        order.done();
    }
    orders.close().await?;
    Ok(())
}

async fn publish_to(topic: Topic<impl Service>, texts: &[&str]) -> Outcome {
    let orders = topic.publisher().await?;
    for text in texts {
        let mut order = orders.base().buffer(text.len())?;
        order.copy_from_slice(text.as_bytes());
        orders.send(order).await?;
    }
    orders.close().await?;
    Ok(())
}
