//! A UDP listener among strangers and impatient tasks.

use bertha_core::{Addr, Base, Buf, Connection, Datapath, Listener};
use bertha_datapath_kernel::{Udp, UdpConnection};
use futures_util::FutureExt;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

fn message(connection: &UdpConnection, bytes: &[u8]) -> Buf {
    let mut message = connection.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    message
}

#[tokio::test]
async fn a_flood_from_many_addresses_keeps_to_the_backlog() {
    const BACKLOG: usize = 64;
    const STRANGERS: u16 = 2000;
    let listener = Udp::new().backlog(BACKLOG).listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let to = listener.local_addr().ip("test").unwrap();
    let client = Udp::new().connect(to.into()).await.unwrap();
    client.send(message(&client, b"first")).await.unwrap();
    let server = listener.accept().await.unwrap();
    assert_eq!(&*server.recv().await.unwrap(), b"first");
    for stranger in 0..STRANGERS {
        let [high, low] = stranger.to_be_bytes();
        let from = SocketAddr::from((Ipv4Addr::new(127, 1, high, low), 0));
        UdpSocket::bind(from).unwrap().send_to(&[0; 1200], to).unwrap();
        if stranger % 100 == 0 {
            client.send(message(&client, b"still")).await.unwrap();
            assert_eq!(&*server.recv().await.unwrap(), b"still");
        }
    }
    client.send(message(&client, b"done")).await.unwrap();
    while &*server.recv().await.unwrap() != b"done" {}
    assert_eq!(listener.dropped().unknown, u64::from(STRANGERS) - BACKLOG as u64);
    for _ in 0..BACKLOG {
        drop(listener.accept().await.unwrap());
    }
    assert!(listener.accept().now_or_never().is_none());
}

#[tokio::test]
async fn datagrams_of_any_size_reach_a_listener() {
    let listener = Udp::new().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let to = listener.local_addr().ip("test").unwrap();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    for len in [0, 65_507, 0, 1] {
        stranger.send_to(&vec![7; len], to).unwrap();
    }
    let connection = listener.accept().await.unwrap();
    for len in [0, 65_507, 0, 1] {
        assert_eq!(connection.recv().await.unwrap().len(), len);
    }
}

/// Several tasks receive from each connection and give up at random; every message reaches exactly one of them.
async fn impatient_receivers(seed: u64) {
    const CLIENTS: usize = 8;
    const MESSAGES: usize = 500;
    let listener = Udp::new().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let addr: Addr = listener.local_addr();
    let mut tasks = Vec::new();
    for number in 0..CLIENTS {
        let client = Udp::new().connect(addr.clone()).await.unwrap();
        client.send(message(&client, &[number as u8])).await.unwrap();
        let server = std::sync::Arc::new(listener.accept().await.unwrap());
        tasks.push(tokio::spawn(async move {
            // Messages go in lock-step, in small bursts, so that the kernel's buffer never overflows.
            let mut random = seed ^ number as u64;
            let mut step = move || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                random >> 60
            };
            server.recv().await.unwrap();
            let mut next = 0;
            while next < MESSAGES {
                for n in next..next + 5 {
                    client.send(message(&client, &(n as u32).to_be_bytes())).await.unwrap();
                }
                let mut expected = next;
                while expected < next + 5 {
                    let received = {
                        let mut receive = std::pin::pin!(server.recv());
                        let mut polls = step();
                        std::future::poll_fn(|cx| match receive.as_mut().poll(cx) {
                            std::task::Poll::Pending if polls == 0 => std::task::Poll::Ready(None),
                            std::task::Poll::Pending => {
                                polls -= 1;
                                if polls % 2 == 0 {
                                    cx.waker().wake_by_ref();
                                }
                                std::task::Poll::Pending
                            }
                            ready => ready.map(Some),
                        })
                        .await
                    };
                    match received {
                        Some(received) => {
                            assert_eq!(*received.unwrap(), (expected as u32).to_be_bytes());
                            expected += 1;
                        }
                        None => tokio::task::yield_now().await,
                    }
                }
                next += 5;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn cancelled_receives_lose_nothing_on_one_thread() {
    for seed in 0..5 {
        impatient_receivers(seed).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cancelled_receives_lose_nothing_on_several_threads() {
    for seed in 0..5 {
        impatient_receivers(seed).await;
    }
}
