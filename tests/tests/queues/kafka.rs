//! The conformance suite of queues over a Kafka broker.

use crate::away;
use crate::requests::{allow_to_read, create_compacted, state_of};
use crate::server::{self, alone};
use bertha_core::{Buf, Connection, Error, ErrorKind};
use bertha_queues::kafka::Kafka;
use bertha_queues::{Ordering, Topic};
use bertha_tests::conformance::queue::{QueueSite, Receiver, Restarted, queue};
use std::path::Path;
use std::time::Duration;

struct Broker {
    address: String,
    /// The address at which the broker wants a login.
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
        let _alone = alone().await;
        queue(&Broker { address, login: bertha_tests::service("BERTHA_KAFKA_LOGIN") }).await;
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_of_kafka_learns_that_its_server_was_killed() {
    let broker = match crate::broker::Broker::new("kafka", "killed") {
        Ok(broker) => broker,
        Err(reason) => return bertha_tests::skip(&format!("a killed server of Kafka: {reason}")),
    };
    let address = format!("127.0.0.1:{}", broker.port());
    let settings = [("message.timeout.ms", "5000")];
    let kafka = Kafka::with_config(&address, settings).await.unwrap();
    away::both_ends_learn_that_the_server_is_away(kafka, &broker).await;
}

/// A member of the group that does not ask for messages would hold up the messages of its partitions, and all
/// messages while the group learns of the member.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_joins_its_group_once_it_asks_for_messages() {
    let Some(address) = bertha_tests::service("BERTHA_KAFKA") else { return };
    let _alone = alone().await;
    let name = format!("silent-{:016x}", rand::random::<u64>());
    let topic = Topic::new(Kafka::connect(&address).await.unwrap(), name.clone()).acknowledge_by_dropping();
    topic.create().await.unwrap();
    let state = || state_of(&address, &format!("all.{name}"));
    let (dropped, receiver) = (topic.receiver("all").await.unwrap(), topic.receiver("all").await.unwrap());
    drop(dropped);
    for _ in 0..20 {
        assert_eq!(state(), "Empty");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    publish(&topic).await.unwrap();
    assert_eq!(&*receiver.recv().await.unwrap(), b"a message");
    assert_eq!(state(), "Stable");
    receiver.close().await.unwrap();
    topic.delete().await.unwrap();
}

/// Offsets of the new topic begin at zero, behind those of the old topic.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_loses_no_message_of_a_topic_that_is_made_again() {
    let Some(address) = bertha_tests::service("BERTHA_KAFKA") else { return };
    let _alone = alone().await;
    let settings = [("topic.metadata.refresh.interval.ms", "500"), ("metadata.max.age.ms", "1500")];
    let kafka = Kafka::with_config(&address, settings).await.unwrap().partitions(1);
    let name = format!("again-{:016x}", rand::random::<u64>());
    let topic = Topic::new(kafka, name).acknowledge_by_dropping();
    topic.create().await.unwrap();
    let receiver = topic.receiver("all").await.unwrap();
    let expect = async |what: &str, numbers: std::ops::Range<usize>| {
        for number in numbers {
            let message = tokio::time::timeout(Duration::from_secs(40), async {
                // The receiver may be told that the topic is gone for a while.
                loop {
                    if let Ok(message) = receiver.recv().await {
                        return message;
                    }
                }
            });
            let message = message.await.unwrap_or_else(|_| panic!("{what} {number} does not arrive"));
            assert_eq!(String::from_utf8_lossy(&message), format!("{what} {number}"));
        }
    };
    let publish = async |what: &str, numbers: std::ops::Range<usize>| {
        let publisher = topic.publisher().await.unwrap();
        for number in numbers {
            publisher.send(Buf::copy_of(format!("{what} {number}").as_bytes(), 0).unwrap()).await.unwrap();
        }
        publisher.close().await.unwrap();
    };
    publish("old", 0..20).await;
    expect("old", 0..20).await;
    topic.delete().await.unwrap();
    topic.create().await.unwrap();
    // The receiver has its place in the new topic before the topic is as long as the old topic was.
    publish("new", 0..10).await;
    expect("new", 0..10).await;
    publish("new", 10..90).await;
    expect("new", 10..90).await;
    receiver.close().await.unwrap();
    topic.delete().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_without_a_key_for_a_compacted_topic_is_refused_with_the_reason() {
    let Some(address) = bertha_tests::service("BERTHA_KAFKA") else { return };
    let _alone = alone().await;
    let name = format!("compacted-{:016x}", rand::random::<u64>());
    create_compacted(&address, &name);
    let topic = Topic::new(Kafka::connect(&address).await.unwrap(), name).acknowledge_by_dropping();
    let mut error = publish(&topic).await.unwrap_err();
    // A broker hears of a topic that another client has created a moment later.
    while error.to_string().contains("there is no topic") {
        tokio::time::sleep(Duration::from_millis(100)).await;
        error = publish(&topic).await.unwrap_err();
    }
    assert!(error.to_string().contains("cleanup.policy=compact"), "{error:?}");
    topic.delete().await.unwrap();
}

/// Returns settings with a login, and further settings.
fn login<'a>(user: &'a str, password: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let settings = [
        ("security.protocol", "SASL_PLAINTEXT"),
        ("sasl.mechanism", "PLAIN"),
        ("sasl.username", user),
        ("sasl.password", password),
    ];
    // The last setting of a name counts.
    settings.into_iter().chain(more.iter().copied()).collect()
}

/// Exchanges a question and its answer, on a new topic.
async fn talk(kafka: Kafka) {
    let topic = Topic::new(kafka, format!("login-{:016x}", rand::random::<u64>())).acknowledge_by_dropping();
    topic.create().await.unwrap();
    let (asks, answers) = (topic.endpoint("asks").await.unwrap(), topic.endpoint("answers").await.unwrap());
    for (from, to, text) in [(&asks, &answers, &b"a question"[..]), (&answers, &asks, b"an answer")] {
        from.send(Buf::copy_of(text, 0).unwrap()).await.unwrap();
        // An end gets its own messages, too.
        while &*to.recv().await.unwrap() != text {}
    }
    asks.close().await.unwrap();
    answers.close().await.unwrap();
    topic.delete().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_right_login_messages_go_both_ways() {
    let Some(address) = bertha_tests::service("BERTHA_KAFKA_LOGIN") else { return };
    let _alone = alone().await;
    talk(Kafka::with_config(&address, login("bertha", "bertha", &[])).await.unwrap()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_wrong_login_is_named() {
    let Some(address) = bertha_tests::service("BERTHA_KAFKA_LOGIN") else { return };
    let _alone = alone().await;
    let cases = [
        (login("bertha", "wrong", &[]), ErrorKind::Unauthenticated, "sasl.password"),
        (login("nobody", "bertha", &[]), ErrorKind::Unauthenticated, "sasl.username"),
        (
            login("bertha", "bertha", &[("sasl.mechanism", "NO-SUCH")]),
            ErrorKind::Invalid,
            "the settings can't be used",
        ),
        // The broker ends a connection that begins without TLS.
        (Vec::new(), ErrorKind::Unreachable, "security.protocol"),
    ];
    for (settings, kind, expected) in cases {
        let case = format!("{settings:?}");
        let error = Kafka::with_config(&address, settings).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{case}: {error:?}");
        assert!(error.to_string().contains(expected), "{case}: {error:?}");
    }
}

/// The error names the missing right at once, and not after the time that the broker has to answer.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_user_may_not_do_is_named_after_the_login() {
    let Some(address) = bertha_tests::service("BERTHA_KAFKA_LOGIN") else { return };
    let Some(open) = bertha_tests::service("BERTHA_KAFKA") else { return };
    let _alone = alone().await;
    let name = format!("rights-{:016x}", rand::random::<u64>());
    let owner = Topic::new(Kafka::connect(&open).await.unwrap(), name.clone()).acknowledge_by_dropping();
    owner.create().await.unwrap();
    let topic =
        Topic::new(Kafka::with_config(&address, login("guest", "guest", &[])).await.unwrap(), name.clone())
            .acknowledge_by_dropping();
    let refused = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error:?}");
        assert!(error.to_string().contains("the user may not do this"), "{error:?}");
    };
    refused(topic.publisher().await.map(drop).unwrap_err());
    refused(topic.receiver("guests").await.map(drop).unwrap_err());

    allow_to_read(&open, "guest", &name);
    // The client ends for good, since its user may write to no topic at all.
    refused(publish(&topic).await.unwrap_err());
    refused(topic.receiver("guests").await.map(drop).unwrap_err());

    owner.delete().await.unwrap();
}

async fn publish(topic: &Topic<Kafka>) -> Result<(), Error> {
    topic.publisher().await?.send(Buf::copy_of(b"a message", 0).unwrap()).await
}

#[cfg(not(feature = "kafka-tls"))]
#[tokio::test]
async fn without_the_feature_for_tls_it_is_named() {
    for more in [("security.protocol", "SASL_SSL"), ("sasl.mechanism", "SCRAM-SHA-256")] {
        let error = Kafka::with_config("127.0.0.1:1", login("bertha", "bertha", &[more])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{more:?}: {error:?}");
        assert!(error.to_string().contains("need the feature `kafka-tls`"), "{more:?}: {error:?}");
    }
}

#[cfg(feature = "kafka-tls")]
#[tokio::test(flavor = "multi_thread")]
async fn over_tls_each_wrong_proof_is_named() {
    let Some(address) = bertha_tests::service("BERTHA_KAFKA_TLS") else { return };
    let Some(secrets) = bertha_tests::service("BERTHA_KAFKA_SECRETS") else { return };
    let _alone = alone().await;
    let (right, other) = (format!("{secrets}/ca.pem"), format!("{secrets}/other.pem"));
    let connect = async |password: &str, authority: Option<&str>| {
        let mut settings = login("bertha", password, &[("security.protocol", "SASL_SSL")]);
        settings.extend(authority.map(|file| ("ssl.ca.location", file)));
        Kafka::with_config(&address, settings).await
    };
    talk(connect("bertha", Some(&right)).await.unwrap()).await;
    let cases = [
        ("another authority", "bertha", Some(&*other), "ssl.ca.location"),
        // The system's authorities do not know the server's authority.
        ("the system's authorities", "bertha", None, "ssl.ca.location"),
        ("a wrong password", "wrong", Some(&right), "sasl.password"),
    ];
    for (case, password, authority, expected) in cases {
        let error = connect(password, authority).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{case}: {error:?}");
        assert!(error.to_string().contains(expected), "{case}: {error:?}");
    }
}
