//! The conformance suite of queues over a NATS server with JetStream, without order and with order by key.

use crate::away;
use crate::broker::Broker;
use crate::endless;
use crate::server::{self, alone};
use bertha_core::{Buf, Connection, Error, ErrorKind};
use bertha_queues::nats::{ConnectOptions, Nats};
use bertha_queues::{Ordering, Service, Subscription, Topic};
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
        self.client(self.orders[0]).await.redelivery(Duration::from_secs(1)).dead_letters_after(3)
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

/// The suites run in turn, since each restarts the server.
#[test]
fn every_promise_is_kept() {
    let Some(address) = bertha_tests::service("BERTHA_NATS") else { return };
    server::run(async move || {
        let _alone = alone().await;
        queue(&Server { address: address.clone(), orders: &[Ordering::None, Ordering::ByKey] }).await;
        queue(&Server { address, orders: &[Ordering::ByKey] }).await;
    });
}

#[tokio::test]
async fn a_receiver_learns_that_its_server_was_killed() {
    let broker = match Broker::new("nats", "killed") {
        Ok(broker) => broker,
        Err(reason) => return bertha_tests::skip(&format!("a killed server of NATS: {reason}")),
    };
    let nats = Nats::connect(&format!("nats://127.0.0.1:{}", broker.port())).await.unwrap();
    away::both_ends_learn_that_the_server_is_away(nats, &broker).await;
}

/// The server has changed a password while the client was connected.
#[tokio::test]
async fn an_end_learns_that_its_password_is_no_longer_good() {
    let broker = match Broker::new("nats", "password") {
        Ok(broker) => broker,
        Err(reason) => return bertha_tests::skip(&format!("a changed password of NATS: {reason}")),
    };
    let configure = |password: &str| {
        let file = broker.file("config");
        let text = std::fs::read_to_string(&file).unwrap();
        let users = text.find("users: [").unwrap() + "users: [".len();
        let rest = &text[text[users..].find("{ user: anybody").unwrap() + users..];
        let user = format!("{{ user: moved, password: {password} }}");
        std::fs::write(&file, format!("{}\n{user}\n{rest}", &text[..users])).unwrap();
        broker.signal("HUP");
    };
    configure("one");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let nats = Nats::connect(&format!("nats://moved:one@127.0.0.1:{}", broker.port())).await.unwrap();
    let topic = Topic::new(nats, "moved");
    topic.create().await.unwrap();
    let (receiver, publisher) = (topic.receiver("all").await.unwrap(), topic.publisher().await.unwrap());
    publisher.send(Buf::copy_of(b"a book", 0).unwrap()).await.unwrap();
    receiver.recv().await.unwrap().done();
    configure("two");
    for call in ["recv", "send"] {
        let outcome = async {
            match call {
                "recv" => receiver.recv().await.map(drop),
                _ => publisher.send(Buf::copy_of(b"a pen", 0).unwrap()).await,
            }
        };
        let error = tokio::time::timeout(Duration::from_secs(60), outcome).await.expect(call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{call}: {error:?}");
    }
}

#[tokio::test]
async fn without_a_limit_a_message_is_delivered_again_and_again() {
    let Some(address) = bertha_tests::service("BERTHA_NATS") else { return };
    let _alone = alone().await;
    let nats = Nats::connect(&address).await.unwrap();
    endless::a_message_is_delivered_again_and_again(nats.dead_letters_after(None)).await;
}

/// A user without the rights is told so by the first call, although the server answers nothing.
#[tokio::test]
async fn a_user_without_rights_is_told_so() {
    let Some(address) = bertha_tests::service("BERTHA_NATS") else { return };
    let _alone = alone().await;
    let nats = Nats::connect(&address.replace("nats://", "nats://limited:limited@")).await.unwrap();
    let error = nats.create("orders").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error:?}");
    assert!(error.to_string().contains("orders"), "{error:?}");
}

/// Connects over TLS, with a login in the address.
#[tokio::test]
async fn over_tls_each_wrong_proof_is_named() {
    let Some(address) = bertha_tests::service("BERTHA_NATS") else { return };
    let Some(secrets) = bertha_tests::service("BERTHA_NATS_SECRETS") else { return };
    let _alone = alone().await;
    let server = address.trim_start_matches("nats://");
    let connect = async |authority: &str, login: &str| {
        let options =
            ConnectOptions::new().add_root_certificates(format!("{secrets}/{authority}.pem").into());
        Nats::with_options(&format!("tls://{login}{server}"), options).await
    };
    let nats = connect("ca", "anybody:anybody@").await.unwrap();
    let topic = Topic::new(nats, format!("tls-{:016x}", rand::random::<u64>())).acknowledge_by_dropping();
    topic.create().await.unwrap();
    let (receiver, publisher) = (topic.receiver("all").await.unwrap(), topic.publisher().await.unwrap());
    publisher.send(Buf::copy_of(b"a book", 0).unwrap()).await.unwrap();
    assert_eq!(&*receiver.recv().await.unwrap(), b"a book");
    receiver.close().await.unwrap();
    topic.delete().await.unwrap();
    let cases = [
        ("another authority", "other", "anybody:anybody@", "certificate"),
        ("a wrong password", "ca", "anybody:wrong@", "does not accept the user and password"),
        ("an unknown user", "ca", "nobody:anybody@", "does not accept the user and password"),
    ];
    for (case, authority, login, expected) in cases {
        let error = connect(authority, login).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{case}: {error:?}");
        assert!(error.to_string().contains(expected), "{case}: {error:?}");
        assert!(!format!("{error:?}").contains("wrong@"), "{case}: {error:?}");
    }
    // The system's authorities do not know the server's authority.
    let error = Nats::connect(&format!("tls://{server}")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error:?}");
    assert!(error.to_string().contains("certificate"), "{error:?}");
}
