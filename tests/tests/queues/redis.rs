//! The conformance suite of queues over streams in a Redis server.

use crate::endless;
use crate::server::{self, alone};
use bertha_core::{Buf, Connection, Error, ErrorKind};
use bertha_queues::redis::{Client, ClientTlsConfig, RedisStreams, TlsCertificates};
use bertha_queues::{Ordering, Service, Subscription, Topic};
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
        self.service(Ordering::None).await.redelivery(Duration::from_secs(1)).dead_letters_after(3)
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

    /// Restarts the server of the tests, which keeps its data in memory alone.
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
        let _alone = alone().await;
        queue(&Server(address)).await;
    });
}

#[tokio::test]
async fn without_a_limit_a_message_is_delivered_again_and_again() {
    let Some(address) = bertha_tests::service("BERTHA_REDIS") else { return };
    let _alone = alone().await;
    let redis = RedisStreams::connect(&address).await.unwrap();
    endless::a_message_is_delivered_again_and_again(redis.dead_letters_after(None)).await;
}

/// A server that wants TLS, certificates at both ends and a login.
struct Secured {
    /// Host and port.
    server: String,
    /// The folder of certificates and keys.
    folder: String,
}

impl Secured {
    fn find() -> Option<Self> {
        let url = bertha_tests::service("BERTHA_REDIS_TLS")?;
        let (front, files) = url.split_once("?ca=").unwrap();
        let folder = files.split("/ca.pem").next().unwrap();
        Some(Self { server: front.split_once('@').unwrap().1.to_owned(), folder: folder.to_owned() })
    }

    fn file(&self, name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/{name}", self.folder)).unwrap()
    }

    fn password(&self) -> String {
        String::from_utf8(self.file("password")).unwrap().trim().to_owned()
    }

    /// Connects with the certificate and key of the name `own`, and trusts the authority of the name
    /// `authority`.
    async fn connect(&self, authority: &str, own: &str, password: &str) -> Result<RedisStreams, Error> {
        let client_tls = (!own.is_empty()).then(|| ClientTlsConfig {
            client_cert: self.file(&format!("{own}.pem")),
            client_key: self.file(&format!("{own}.key")),
        });
        let root_cert = Some(self.file(&format!("{authority}.pem")));
        let url = format!("rediss://topics:{password}@{}", self.server);
        let client = Client::build_with_tls(url, TlsCertificates { client_tls, root_cert });
        RedisStreams::with_client(client.unwrap()).await
    }
}

/// The user has the rights that the documentation names, and no others.
#[tokio::test]
async fn over_tls_the_documented_rights_are_enough() {
    let Some(secured) = Secured::find() else { return };
    let _alone = alone().await;
    let redis = secured.connect("ca", "user", &secured.password()).await.unwrap();
    let topic = Topic::new(redis.clone().redelivery(Duration::from_secs(1)).dead_letters_after(2), "orders")
        .acknowledge_by_dropping();
    topic.delete().await.unwrap();
    topic.create().await.unwrap();
    let (receiver, publisher) = (topic.receiver("all").await.unwrap(), topic.publisher().await.unwrap());
    publisher.send(Buf::copy_of(b"a book", 0).unwrap()).await.unwrap();
    assert_eq!(&*receiver.recv().await.unwrap(), b"a book");
    receiver.drain().await.unwrap();
    // A message that fails again and again goes to the dead letters, by scripts.
    let dead = Topic::new(redis.clone(), RedisStreams::dead_letters("orders")).acknowledge_by_dropping();
    let dead = dead.receiver("test").await.unwrap();
    publisher.send(Buf::copy_of(b"a bomb", 0).unwrap()).await.unwrap();
    for _ in 0..2 {
        std::mem::forget(receiver.recv().await.unwrap());
    }
    let bomb = tokio::select! {
        letter = dead.recv() => letter.unwrap(),
        message = receiver.recv() => panic!("{message:?} came once more"),
    };
    assert_eq!(&*bomb, b"a bomb");
    receiver.close().await.unwrap();
    topic.delete().await.unwrap();
    let error = redis.create("invoices").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error:?}");
    assert!(error.to_string().contains("ACL SETUSER"), "{error}");
}

#[tokio::test]
async fn over_tls_each_wrong_proof_is_named() {
    let Some(secured) = Secured::find() else { return };
    let _alone = alone().await;
    let right = secured.password();
    let cases = [
        ("another authority", "other", "user", &*right, "none of the trusted authorities"),
        ("no certificate", "ca", "", &right, "wants a certificate of this end"),
        ("a stranger's certificate", "ca", "other", &right, "wants a certificate of this end"),
        ("a wrong password", "ca", "user", "wrong", "does not accept the login"),
    ];
    for (case, authority, own, password, expected) in cases {
        let error = secured.connect(authority, own, password).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{case}: {error:?}");
        assert!(error.to_string().contains(expected), "{case}: {error:?}");
        assert!(!format!("{error:?}").contains(&right), "{case}: {error:?}");
    }
    // The system's authorities do not know the server's authority.
    let url = format!("rediss://topics:{right}@{}", secured.server);
    let error = RedisStreams::connect(&url).await.unwrap_err();
    assert!(error.to_string().contains("none of the trusted authorities"), "{error:?}");
}
