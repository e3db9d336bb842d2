//! The conformance suite of queues over a fake of Azure Queue Storage, and tests of what only that service
//! does.

use crate::server::{self, alone};
use bertha_core::{Error, ErrorKind};
use bertha_queues::azure::AzureQueue;
use bertha_queues::{Ordering as Order, Service, Subscription};
use bertha_tests::conformance::queue::{QueueSite, Receiver, Restarted, Sizes, Throttled, queue};
use bertha_tests::servers::azure_queue;
use bertha_tests::{ThrottlingProxy, service};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

struct Site {
    address: String,
    proxy: Arc<ThrottlingProxy>,
}

impl QueueSite for Site {
    type Service = AzureQueue;

    fn orders(&self) -> &[Order] {
        &[Order::None]
    }

    async fn service(&self, _: Order) -> AzureQueue {
        azure_queue(&self.address).unwrap()
    }

    async fn impatient(&self) -> AzureQueue {
        let queues = azure_queue(&self.address).unwrap();
        queues.redelivery(Duration::from_secs(1)).dead_letters_after(3)
    }

    async fn kill_a_receiver(&self, topic: &str, subscription: &str, messages: usize) {
        let service = format!("azure-queue:{}", self.address);
        let program = Path::new(env!("CARGO_BIN_EXE_queue_receiver"));
        Receiver::holding(program, &service, topic, subscription, messages).await.kill();
    }

    async fn dead_letters(&self, topic: &str) -> Vec<Vec<u8>> {
        let queue = format!("{topic}-poison");
        // The queue of dead letters is created for the first dead letter.
        let Ok(inspector) = azure_queue(&self.address).unwrap().subscription(&queue, "inspector").await
        else {
            return Vec::new();
        };
        let dead = inspector.receive(10, Duration::ZERO).await.unwrap();
        dead.into_iter().map(|message| message.payload).collect()
    }

    async fn restart(&self) -> Restarted {
        server::restart("azure-queue", &self.address, Restarted::Empty).await
    }

    async fn refused(&self) -> Option<Result<AzureQueue, Error>> {
        Some(azure_queue(&with_another_signature(&self.address)))
    }

    /// Each message takes two calls at least, and the fake looks through all messages for each.
    fn sizes(&self) -> Sizes {
        let mut sizes = Sizes::default();
        (sizes.messages, sizes.few) = (200, 40);
        sizes.patience = Duration::from_secs(120);
        sizes
    }

    async fn throttled(&self) -> Option<Throttled<AzureQueue>> {
        let rest = self.address.split("//").nth(1).unwrap();
        let (_, path) = rest.split_once('/').unwrap();
        let proxy = self.proxy.clone();
        let service = azure_queue(&format!("http://{}/{path}", proxy.addr())).unwrap();
        Some(Throttled { service, throttle: Box::new(move |requests| proxy.refuse(requests)) })
    }
}

/// Returns the address with a signature that was made with another key.
fn with_another_signature(address: &str) -> String {
    let (rest, _) = address.split_once("&sig=").unwrap();
    format!("{rest}&sig=c2lnbmVkIHdpdGggYW5vdGhlciBrZXk%3D")
}

#[tokio::test(flavor = "multi_thread")]
async fn every_promise_is_kept() {
    let Some(address) = service("BERTHA_AZURE_QUEUE") else { return };
    let _alone = alone().await;
    let proxy = Arc::new(ThrottlingProxy::start(server::socket(&address)).await);
    queue(&Site { address, proxy }).await;
}

/// Neither refusals nor logs contain the signature.
#[tokio::test]
async fn signatures_are_not_shown() {
    let Some(address) = service("BERTHA_AZURE_QUEUE") else { return };
    let _alone = alone().await;
    let refused = azure_queue(&with_another_signature(&address)).unwrap();
    let error = refused.create("orders").await.unwrap_err();
    let away = azure_queue("http://127.0.0.1:1/account?sv=1&sig=c2lnbmVk").unwrap();
    let unreachable = away.publisher("orders").await.unwrap_err();
    assert_eq!((error.kind(), unreachable.kind()), (ErrorKind::Unauthenticated, ErrorKind::Unreachable));
    let publisher = azure_queue(&address).unwrap();
    for text in
        [format!("{error:?}"), format!("{unreachable:?}"), format!("{refused:?}"), format!("{publisher:?}")]
    {
        assert!(!text.contains("sig=") && !text.contains("c2lnbmVk"), "{text}");
    }
}

/// Servers close a connection that nobody uses, so a connection is not used again after a while.
#[tokio::test]
async fn a_connection_that_was_not_used_for_a_while_is_not_used_again() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let queues =
        azure_queue(&format!("http://{}/account?sv=1&sig=c2lnbmVk", server.local_addr().unwrap())).unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = connections.clone();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = server.accept().await.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                let mut asked = Vec::new();
                while client.read_buf(&mut asked).await.is_ok_and(|read| read > 0) {
                    if asked.ends_with(b"\r\n\r\n") {
                        asked.clear();
                        client.write_all(NO_QUEUE).await.unwrap();
                    }
                }
            });
        }
    });
    let ask = async || assert_eq!(queues.publisher("orders").await.unwrap_err().kind(), ErrorKind::Invalid);
    ask().await;
    ask().await;
    let before = connections.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(3)).await;
    ask().await;
    assert_eq!(connections.load(Ordering::Relaxed), before + 1);
}

const NO_QUEUE: &[u8] =
    b"HTTP/1.1 404 Not Found\r\nx-ms-error-code: QueueNotFound\r\nContent-Length: 0\r\n\r\n";
