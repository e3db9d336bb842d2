//! The conformance suite of queues over streams in a Redis server.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod server;

use bertha_core::Error;
use bertha_queue::{Ordering, Service, Subscription};
use bertha_queue_redis::RedisStreams;
use bertha_tests::conformance::queue::{QueueSite, Receiver, Restarted, queue};
use std::path::Path;
use std::time::Duration;

struct Server(String);

impl QueueSite for Server {
    type Service = RedisStreams;

    fn orders(&self) -> &[Ordering] {
        &[Ordering::None]
    }

    async fn service(&self, _: Ordering) -> RedisStreams {
        RedisStreams::connect(&self.0).await.unwrap()
    }

    async fn impatient(&self) -> RedisStreams {
        self.service(Ordering::None).await.redelivery(Duration::from_secs(1)).deliveries(3)
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        let (program, service) = (env!("CARGO_BIN_EXE_queue_receiver"), format!("redis:{}", self.0));
        Receiver::holding(Path::new(program), &service, topic, subscription, messages).await.kill();
    }

    async fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        let redis = self.service(Ordering::None).await;
        let subscription = redis.subscription(&RedisStreams::dead_letters(topic), "test").await.unwrap();
        let letters = subscription.receive(10, Duration::from_millis(100)).await.unwrap();
        letters.into_iter().map(|letter| letter.payload).collect()
    }

    /// The tests' server writes nothing down.
    async fn restart(&self) -> Restarted {
        server::restart("redis", &self.0, Restarted::Empty).await
    }

    async fn refused(&self) -> Option<Result<RedisStreams, Error>> {
        Some(RedisStreams::connect(&self.0.replace("redis://", "redis://somebody:wrong@")).await)
    }
}

#[test]
fn every_promise_is_kept() {
    let Some(address) = bertha_tests::service("BERTHA_REDIS") else { return };
    server::run(async move || {
        queue(&Server(address)).await;
    });
}
