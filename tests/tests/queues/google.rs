//! The conformance suite of queues over Google's fake of Pub/Sub, and tests of what only that service does.

use crate::server::{self, alone};
use bertha_core::{Error, ErrorKind};
use bertha_queues::google::PubSub;
use bertha_queues::{Ordering, Outgoing, Publisher, Service, Subscription};
use bertha_tests::conformance::queue::{QueueSite, Receiver, Restarted, Throttled, queue};
use bertha_tests::servers::{pubsub, pubsub_with_key};
use bertha_tests::service;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

struct Site {
    host: String,
    /// The address at which the fake takes commands.
    control: String,
}

impl QueueSite for Site {
    type Service = PubSub;

    fn orders(&self) -> &[Ordering] {
        &[Ordering::None, Ordering::ByKey]
    }

    async fn service(&self, ordering: Ordering) -> PubSub {
        let pubsub = pubsub(&self.host).unwrap();
        if ordering == Ordering::ByKey { pubsub.ordered() } else { pubsub }
    }

    async fn impatient(&self) -> PubSub {
        pubsub(&self.host).unwrap().redelivery(Duration::from_secs(1)).dead_letters_after(3)
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        let service = format!("pubsub:{}", self.host);
        let program = Path::new(env!("CARGO_BIN_EXE_queue_receiver"));
        Receiver::holding(program, &service, topic, subscription, messages).await.kill();
    }

    async fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        let inspector =
            pubsub(&self.host).unwrap().subscription(&format!("{topic}-all-dead"), "all").await.unwrap();
        let dead = inspector.receive(10, Duration::ZERO).await.unwrap();
        dead.into_iter().map(|message| message.payload).collect()
    }

    async fn restart(&self) -> Restarted {
        server::restart("pubsub", &self.host, Restarted::Empty).await
    }

    async fn refused(&self) -> Option<Result<PubSub, Error>> {
        Some(pubsub_with_key(&self.host, "refused"))
    }

    async fn throttled(&self) -> Option<Throttled<PubSub>> {
        let control = self.control.clone();
        let throttle = move |calls: usize| {
            let mut fake = TcpStream::connect(&control).unwrap();
            writeln!(fake, "{}", calls.min(u32::MAX as usize)).unwrap();
            // The fake answers once it has carried the command out.
            fake.read_exact(&mut [0]).unwrap();
        };
        let service = pubsub_with_key(&self.host, "throttled").unwrap();
        Some(Throttled { service, throttle: Box::new(throttle) })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_is_kept() {
    let (Some(host), Some(control)) = (service("BERTHA_PUBSUB"), service("BERTHA_PUBSUB_CONTROL")) else {
        return;
    };
    let _alone = alone().await;
    queue(&Site { host, control }).await;
}

/// A message that is held for longer than its deadline comes to no other receiver. A message whose deadline
/// is no longer extended does.
#[tokio::test]
async fn deadlines_are_extended_while_messages_are_held() {
    let Some(host) = service("BERTHA_PUBSUB") else { return };
    let _alone = alone().await;
    for (hold_for, comes) in [(Duration::from_secs(60), 0), (Duration::ZERO, 1)] {
        let topic = format!("held-{:016x}", rand::random::<u64>());
        let pubsub = pubsub(&host).unwrap().redelivery(Duration::from_secs(3)).hold_for(hold_for);
        pubsub.create(&topic).await.unwrap();
        let first = pubsub.subscription(&topic, "all").await.unwrap();
        let second = pubsub.subscription(&topic, "all").await.unwrap();
        let message = Outgoing { payload: b"long work", key: None, id: 1 };
        assert!(pubsub.publisher(&topic).await.unwrap().publish(&[message]).await.unwrap().is_empty());
        let held = first.receive(1, Duration::from_secs(5)).await.unwrap();
        assert_eq!(held.len(), 1);
        // The pause lasts for three deadlines.
        tokio::time::sleep(Duration::from_secs(9)).await;
        assert_eq!(second.receive(1, Duration::ZERO).await.unwrap().len(), comes, "held for {hold_for:?}");
        pubsub.delete(&topic).await.unwrap();
    }
}

/// The errors of topics and subscriptions with wrong names or settings name the remedy.
#[tokio::test]
async fn wrong_names_are_named() {
    let Some(host) = service("BERTHA_PUBSUB") else { return };
    let _alone = alone().await;
    let (pubsub, topic) = (pubsub(&host).unwrap(), format!("names-{:016x}", rand::random::<u64>()));
    let error = pubsub.publisher(&topic).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.context().contains("create it"), "{error}");
    pubsub.create(&topic).await.unwrap();
    pubsub.subscription(&topic, "all").await.unwrap();
    let error = pubsub.clone().ordered().subscription(&topic, "all").await.unwrap_err();
    assert!(error.context().contains("without order"), "{error}");
    // The subscription of the other topic has the name of the first subscription, since a part of its name
    // belongs to the topic.
    let other = format!("{topic}-a");
    pubsub.create(&other).await.unwrap();
    pubsub.subscription(&other, "b").await.unwrap();
    let error = pubsub.subscription(&topic, "a-b").await.unwrap_err();
    assert!(error.context().contains("belongs to"), "{error}");
    pubsub.delete(&other).await.unwrap();
    pubsub.delete(&topic).await.unwrap();
}

/// No server listens at the address.
#[tokio::test]
async fn a_server_that_is_away_is_unreachable() {
    let error = pubsub("127.0.0.1:1").unwrap().publisher("orders").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}
