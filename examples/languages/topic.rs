//! A topic of NATS, whose messages are acknowledged after the work.
//!
//! `topic work SERVER TOPIC NUMBER` works on this many messages, and `topic publish SERVER TOPIC TEXT..` publishes some; the server is
//! `nats://HOST:PORT`.

use crate::Outcome;
use bertha::queue::{Nats, Topic};
use bertha::{Base, Connection};

pub(crate) async fn work(server: &str, topic: &str, number: usize) -> Outcome {
    let topic = Topic::new(Nats::connect(server).await?, topic);
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

pub(crate) async fn publish(server: &str, topic: &str, texts: &[&str]) -> Outcome {
    let orders = Topic::new(Nats::connect(server).await?, topic).publisher().await?;
    for text in texts {
        let mut order = orders.base().buffer(text.len())?;
        order.copy_from_slice(text.as_bytes());
        orders.send(order).await?;
    }
    orders.close().await?;
    Ok(())
}
