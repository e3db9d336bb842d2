//! The conformance suite of queues over fakes of SQS and SNS, and tests of what only these services do.

use crate::server::{self, alone};
use bertha_core::{Buf, Connection, Error, ErrorKind};
use bertha_queues::sqs::Sqs;
use bertha_queues::{Ordering, Outgoing, Publisher, Service, Subscription, Topic};
use bertha_tests::conformance::queue::{QueueSite, Receiver, Restarted, Sizes, Throttled, queue};
use bertha_tests::servers::sqs;
use bertha_tests::{ThrottlingProxy, service};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

struct Site {
    endpoint: String,
    through_sns: bool,
    /// The server that may be killed.
    name: &'static str,
    proxy: Arc<ThrottlingProxy>,
}

impl Site {
    async fn new(name: &'static str, endpoint: String, through_sns: bool) -> Self {
        let proxy = Arc::new(ThrottlingProxy::start(server::socket(&endpoint)).await);
        Self { endpoint, through_sns, name, proxy }
    }

    fn client(&self, endpoint: &str) -> Sqs {
        let sqs = sqs(endpoint);
        if self.through_sns { sqs.through_sns() } else { sqs }
    }
}

impl QueueSite for Site {
    type Service = Sqs;

    fn orders(&self) -> &[Ordering] {
        &[Ordering::None, Ordering::ByKey]
    }

    async fn service(&self, ordering: Ordering) -> Sqs {
        let sqs = self.client(&self.endpoint);
        if ordering == Ordering::ByKey { sqs.fifo() } else { sqs }
    }

    async fn impatient(&self) -> Sqs {
        self.client(&self.endpoint).redelivery(Duration::from_secs(1)).dead_letters_after(3)
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        let kind = if self.through_sns { "sns" } else { "sqs" };
        let service = format!("{kind}:{}", self.endpoint);
        let program = Path::new(env!("CARGO_BIN_EXE_queue_receiver"));
        Receiver::holding(program, &service, topic, subscription, messages).await.kill();
    }

    async fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        let queue = if self.through_sns { format!("{topic}-all-dead") } else { format!("{topic}-dead") };
        let inspector = sqs(&self.endpoint).subscription(&queue, "inspector").await.unwrap();
        let dead = inspector.receive(10, Duration::ZERO).await.unwrap();
        dead.into_iter().map(|message| message.payload).collect()
    }

    async fn restart(&self) -> Restarted {
        server::restart(self.name, &self.endpoint, Restarted::Empty).await
    }

    async fn refused(&self) -> Option<Result<Sqs, Error>> {
        Some(Ok(self.client(&service("BERTHA_SQS_LOCKED")?)))
    }

    async fn throttled(&self) -> Option<Throttled<Sqs>> {
        let proxy = self.proxy.clone();
        let service = self.client(&format!("http://{}", proxy.addr()));
        Some(Throttled { service, throttle: Box::new(move |requests| proxy.refuse(requests)) })
    }

    /// Moto takes 200 calls in a second, and ten on a machine with much other work; ElasticMQ many more.
    fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        if self.name == "sqs" {
            (sizes.messages, sizes.few) = (200, 40);
            sizes.patience = Duration::from_secs(120);
        }
        sizes
    }
}

#[test]
fn every_promise_is_kept_by_sqs() {
    let Some(endpoint) = service("BERTHA_SQS") else { return };
    server::run(async move || {
        let _alone = alone().await;
        queue(&Site::new("sqs", endpoint, false).await).await;
    });
}

#[test]
fn every_promise_is_kept_by_sqs_in_a_second_opinion() {
    let Some(endpoint) = service("BERTHA_ELASTICMQ") else { return };
    server::run(async move || {
        let _alone = alone().await;
        queue(&Site::new("elasticmq", endpoint, false).await).await;
    });
}

#[test]
fn every_promise_is_kept_by_sns() {
    let Some(endpoint) = service("BERTHA_SNS") else { return };
    server::run(async move || {
        let _alone = alone().await;
        queue(&Site::new("sqs", endpoint, true).await).await;
    });
}

/// Returns a name that no other test has.
fn name(test: &str) -> String {
    format!("{test}-{:016x}", rand::random::<u64>())
}

/// A message that is published again with the same id, as after a lost answer, arrives once in a FIFO queue.
#[tokio::test]
async fn a_repeated_call_publishes_nothing_twice() {
    let Some(endpoint) = service("BERTHA_SQS") else { return };
    let _alone = alone().await;
    let (sqs, topic) = (sqs(&endpoint).fifo(), name("repeated"));
    sqs.create(&topic).await.unwrap();
    let receiver = sqs.subscription(&topic, "all").await.unwrap();
    let publisher = sqs.publisher(&topic).await.unwrap();
    for id in [1, 1, 2] {
        let message = Outgoing { payload: b"a book", key: Some(7), id };
        assert!(publisher.publish(&[message]).await.unwrap().is_empty());
    }
    let mut came = 0;
    loop {
        let burst = receiver.receive(10, Duration::from_secs(1)).await.unwrap();
        if burst.is_empty() {
            break;
        }
        came += burst.len();
        let receipts: Vec<_> = burst.into_iter().map(|message| message.receipt).collect();
        receiver.acknowledge(&receipts).await.unwrap();
    }
    assert_eq!(came, 2);
    sqs.delete(&topic).await.unwrap();
}

/// The limit counts a whole call, so ten messages of a tenth of the limit are one call, even with bytes that
/// take the most room.
#[tokio::test]
async fn ten_messages_of_a_tenth_of_the_limit_are_one_call() {
    for variable in ["BERTHA_SQS", "BERTHA_ELASTICMQ"] {
        let Some(endpoint) = service(variable) else { return };
        let _alone = alone().await;
        let (sqs, topic) = (sqs(&endpoint), name("tenth"));
        sqs.create(&topic).await.unwrap();
        let receiver = sqs.subscription(&topic, "all").await.unwrap();
        let publisher = sqs.publisher(&topic).await.unwrap();
        let payload = vec![0xff; sqs.abilities(&topic).publish_bytes / 10];
        let burst: Vec<_> = (0..10).map(|id| Outgoing { payload: &payload, key: None, id }).collect();
        assert!(publisher.publish(&burst).await.unwrap().is_empty());
        let mut came = 0;
        while came < 10 {
            for message in receiver.receive(10, Duration::from_secs(5)).await.unwrap() {
                assert!(message.payload == payload);
                came += 1;
            }
        }
        sqs.delete(&topic).await.unwrap();
    }
}

/// A call that waits for messages goes on at the service when its receiver has gone, and gives its messages
/// back: no other receiver waits for the visibility time-out.
#[tokio::test]
async fn a_receiver_that_has_gone_takes_no_message_along() {
    let Some(endpoint) = service("BERTHA_ELASTICMQ") else { return };
    let _alone = alone().await;
    let (sqs, topic) = (sqs(&endpoint).redelivery(Duration::from_secs(3600)), name("gone"));
    let topic = Topic::new(sqs, topic).acknowledge_by_dropping();
    topic.create().await.unwrap();
    let publisher = topic.publisher().await.unwrap();
    for number in 0..5 {
        let gone = topic.receiver("all").await.unwrap();
        assert!(tokio::time::timeout(Duration::from_millis(200), gone.recv()).await.is_err());
        drop(gone);
        publisher.send(Buf::copy_of(&[number], 0).unwrap()).await.unwrap();
        let other = topic.receiver("all").await.unwrap();
        let message = tokio::time::timeout(Duration::from_secs(60), other.recv()).await;
        assert_eq!(&*message.expect("the message is with the one that has gone").unwrap(), [number]);
        other.close().await.unwrap();
    }
    topic.delete().await.unwrap();
}

/// The errors of a missing topic and of a FIFO name without FIFO name the remedy.
#[tokio::test]
async fn wrong_names_are_named() {
    let Some(endpoint) = service("BERTHA_SQS") else { return };
    let _alone = alone().await;
    let missing = Topic::new(sqs(&endpoint), name("missing")).acknowledge_by_dropping();
    let error = missing.publisher().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.context().contains("create it"), "{error}");
    let error = Topic::new(sqs(&endpoint), "orders.fifo").create().await.unwrap_err();
    assert!(error.context().contains("fifo()"), "{error}");
    let missing = Topic::new(sqs(&endpoint).through_sns(), name("missing")).acknowledge_by_dropping();
    let error = missing.receiver("all").await.unwrap_err();
    assert!(error.context().contains("SNS topic"), "{error}");
}

/// No server listens at the address.
#[tokio::test]
async fn a_server_that_is_away_is_unreachable() {
    let error = sqs("http://127.0.0.1:1").publisher("orders").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}

/// Other programs can read a message of text, and a text that another program sends is a message.
#[tokio::test]
async fn text_is_a_body_to_other_programs() {
    let Some(endpoint) = service("BERTHA_SQS") else { return };
    let _alone = alone().await;
    let topic = Topic::new(sqs(&endpoint), name("text")).acknowledge_by_dropping();
    topic.create().await.unwrap();
    let receiver = topic.receiver("all").await.unwrap();
    let publisher = topic.publisher().await.unwrap();
    publisher.send(Buf::copy_of(b"{\"order\": 7}", 0).unwrap()).await.unwrap();
    // The test receives the message as another program would, by hand.
    let url = format!("{endpoint}/000000000000/{}", topic.name());
    let ask = |action: &str, fields: &str| {
        let target = format!("x-amz-target: AmazonSQS.{action}");
        // The fake finds the service by this line, and does not check it.
        let login = "authorization: AWS4-HMAC-SHA256 Credential=AKIAOTHER/20260101/us-east-1/sqs/aws4_request, SignedHeaders=host, Signature=0";
        let body = format!(r#"{{"QueueUrl":"{url}",{fields}}}"#);
        let format = "content-type: application/x-amz-json-1.0";
        let command = ["-s", "-H", &target, "-H", login, "-H", format, "-d", &body, &endpoint];
        let output = std::process::Command::new("curl").args(command).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let answer = ask("ReceiveMessage", r#""VisibilityTimeout":0"#);
    assert!(answer.contains(r#"{\"order\": 7}"#), "{answer}");
    assert_eq!(&*receiver.recv().await.unwrap(), b"{\"order\": 7}");
    ask("SendMessage", r#""MessageBody":"hello""#);
    assert_eq!(&*receiver.recv().await.unwrap(), b"hello");
    topic.delete().await.unwrap();
}
