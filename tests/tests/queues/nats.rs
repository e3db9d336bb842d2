//! The conformance suite of queues over a NATS server with JetStream, without order and with order by key.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod server;

use bertha_core::Error;
use bertha_queue::{Ordering, Service, Subscription};
use bertha_queue_nats::Nats;
use bertha_tests::conformance::queue::{QueueSite, Receiver, Restarted, queue};
use std::path::Path;
use std::time::Duration;

struct Server {
    address: String,
    orders: &'static [Ordering],
}

impl Server {
    async fn client(&self, ordering: Ordering) -> Nats {
        let nats = Nats::connect(&self.address).await.unwrap();
        if ordering == Ordering::ByKey { nats.ordered_by_key(8) } else { nats }
    }
}

impl QueueSite for Server {
    type Service = Nats;

    fn orders(&self) -> &[Ordering] {
        self.orders
    }

    async fn service(&self, ordering: Ordering) -> Nats {
        self.client(ordering).await
    }

    async fn impatient(&self) -> Nats {
        self.client(self.orders[0]).await.redelivery(Duration::from_secs(1)).deliveries(3)
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        let service = if self.orders[0] == Ordering::ByKey { "nats-by-key" } else { "nats" };
        let (program, service) =
            (env!("CARGO_BIN_EXE_queue_receiver"), format!("{service}:{}", self.address));
        Receiver::holding(Path::new(program), &service, topic, subscription, messages).await.kill();
    }

    async fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        let nats = self.client(Ordering::None).await;
        let subscription = nats.subscription(&Nats::dead_letters(topic), "test").await.unwrap();
        let letters = subscription.receive(10, Duration::from_millis(100)).await.unwrap();
        letters.into_iter().map(|letter| letter.payload).collect()
    }

    async fn restart(&self) -> Restarted {
        server::restart("nats", &self.address, Restarted::WithData).await
    }

    async fn refused(&self) -> Option<Result<Nats, Error>> {
        Some(Nats::connect(&self.address.replace("nats://", "nats://somebody:wrong@")).await)
    }
}

/// In turn, since each restarts the server.
#[test]
fn every_promise_is_kept() {
    let Some(address) = bertha_tests::service("BERTHA_NATS") else { return };
    server::run(async move || {
        queue(&Server { address: address.clone(), orders: &[Ordering::None, Ordering::ByKey] }).await;
        queue(&Server { address, orders: &[Ordering::ByKey] }).await;
    });
}

/// A user without the rights is told so by the first call, although the server answers nothing.
#[tokio::test]
async fn a_user_without_rights_is_told_so() {
    let Some(address) = bertha_tests::service("BERTHA_NATS") else { return };
    let nats = Nats::connect(&address.replace("nats://", "nats://limited:limited@")).await.unwrap();
    let error = nats.create("orders").await.unwrap_err();
    assert_eq!(error.kind(), bertha_core::ErrorKind::Unauthenticated, "{error:?}");
    assert!(error.to_string().contains("orders"), "{error:?}");
}
