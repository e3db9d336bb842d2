//! Messages of strangers, of clients at another address, and of clients that have started again.

use super::relay::Relay;
use super::scene::{LONG, ask, can_steer, connect, request, serve};
use bertha_core::{Addr, Connection, ErrorKind};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// Waits until shards would have answered.
async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

#[tokio::test]
async fn a_stranger_reaches_no_shard() {
    if !can_steer().await {
        return;
    }
    let server = serve("127.0.0.1:0").await;
    let relay = Relay::start(server.addr.clone()).await;
    let client = connect(relay.addr()).await;
    let data = relay.last_to_server();
    let counts = &server.threads.counts;
    let served = counts.served.load(Relaxed);
    let Addr::Ip(addr) = server.addr.clone() else { panic!() };
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for bit in 0..64 {
        // A wrong tag or kind, from the address of the client and from another.
        let mut wrong = data.clone();
        wrong[bit / 8] ^= 1 << (bit % 8);
        stranger.send_to(&wrong, addr).await.unwrap();
        relay.send_to_server(&wrong).await;
    }
    for length in 0..data.len() {
        stranger.send_to(&data[..length], addr).await.unwrap();
    }
    // The right tag, which an observer knows, from another address.
    for _ in 0..50 {
        stranger.send_to(&data, addr).await.unwrap();
    }
    a_moment().await;
    assert_eq!(counts.served.load(Relaxed), served);
    relay.send_to_server(&data).await;
    assert!(ask(&client, request(1, b"..after".to_vec())).await.shard.is_some(), "the client is served");
    // The same bytes from the client's address. Their shard may be another, and slower.
    let both = async {
        while counts.served.load(Relaxed) < served + 2 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, both).await.expect("the same bytes from the client's address are served");
}

#[tokio::test]
async fn a_client_at_another_address_hears_that_it_has_to_connect_again() {
    if !can_steer().await {
        return;
    }
    let server = serve("127.0.0.1:0").await;
    let relay = Relay::start(server.addr.clone()).await;
    let client = connect(relay.addr()).await;
    let served = server.threads.counts.served.load(Relaxed);
    relay.roam().await;
    client.send(request(1, b"..lost".to_vec())).await.unwrap();
    let error = timeout(LONG, client.recv()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
    assert_eq!(server.threads.counts.served.load(Relaxed), served);
    let again = connect(relay.addr()).await;
    assert!(ask(&again, request(2, b"..again".to_vec())).await.shard.is_some());
    // The server gives the earlier connection up.
    server.threads.until_ended(1).await;
}

#[tokio::test]
async fn a_client_that_starts_again_at_its_address_is_steered_again() {
    if !can_steer().await {
        return;
    }
    let server = serve("127.0.0.1:0").await;
    let relay = Relay::start(server.addr.clone()).await;
    let to = relay.addr();
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        std::mem::forget(runtime.block_on(connect(to)));
        runtime.shutdown_background();
    })
    .await
    .unwrap();
    let again = timeout(LONG, connect(relay.addr())).await.unwrap();
    server.threads.until_ended(1).await;
    for id in 0..100 {
        assert!(ask(&again, request(id, format!("..{id:04}"))).await.shard.is_some(), "request {id}");
    }
}
