//! The conformance suite of queues over a Kafka broker.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod server;

use bertha_core::Error;
use bertha_queue::Ordering;
use bertha_queue_kafka::Kafka;
use bertha_tests::conformance::queue::{QueueSite, Receiver, Restarted, queue};
use std::path::Path;
use std::time::Duration;

struct Broker {
    address: String,
    /// Where it wants a login.
    login: Option<String>,
}

impl QueueSite for Broker {
    type Service = Kafka;

    fn orders(&self) -> &[Ordering] {
        &[Ordering::ByKey]
    }

    async fn service(&self, _: Ordering) -> Kafka {
        Kafka::connect(&self.address).await.unwrap()
    }

    async fn impatient(&self) -> Kafka {
        self.service(Ordering::ByKey).await.session_timeout(Duration::from_secs(1))
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        let (program, service) = (env!("CARGO_BIN_EXE_queue_receiver"), format!("kafka:{}", self.address));
        Receiver::holding(Path::new(program), &service, topic, subscription, messages).await.kill();
    }

    async fn restart(&self) -> Restarted {
        server::restart("kafka", &self.address, Restarted::WithData).await
    }

    async fn refused(&self) -> Option<Result<Kafka, Error>> {
        let settings = [
            ("security.protocol", "SASL_PLAINTEXT"),
            ("sasl.mechanism", "PLAIN"),
            ("sasl.username", "bertha"),
            ("sasl.password", "wrong"),
        ];
        Some(Kafka::with_config(self.login.as_deref()?, settings).await)
    }
}

#[test]
fn every_promise_is_kept() {
    let Some(address) = bertha_tests::service("BERTHA_KAFKA") else { return };
    server::run(async move || {
        queue(&Broker { address, login: bertha_tests::service("BERTHA_KAFKA_LOGIN") }).await;
    });
}
