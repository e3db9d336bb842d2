//! Siblings end with their connection.

use super::scene::{LONG, can_steer, connect, request, serve};
use bertha_core::{Connection, ErrorKind};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::time::timeout;

#[tokio::test]
async fn a_close_ends_them() {
    if !can_steer().await {
        return;
    }
    let mut server = serve("127.0.0.1:0").await;
    connect(server.addr.clone()).await.close().await.unwrap();
    let (_, error) = timeout(LONG, server.ended.recv()).await.unwrap().unwrap();
    assert_eq!(error.kind(), ErrorKind::Closed);
    server.threads.until_ended(1).await;
}

#[tokio::test]
async fn a_client_that_is_silent_ends_them_and_one_that_works_does_not() {
    if !can_steer().await {
        return;
    }
    let mut server = serve("127.0.0.1:0").await;
    let works = connect(server.addr.clone()).await;
    let addr = server.addr.clone();
    // The runtime ends with its tasks, which send keep-alives.
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        std::mem::forget(runtime.block_on(connect(addr)));
        runtime.shutdown_background();
    })
    .await
    .unwrap();
    let (_, error) = timeout(LONG, server.ended.recv()).await.unwrap().unwrap();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
    server.threads.until_ended(1).await;
    let reply = super::scene::ask(&works, request(1, b"..works".to_vec())).await;
    assert!(reply.shard.is_some() && server.ended.try_recv().is_err());
}

#[tokio::test]
async fn what_is_sent_after_the_end_reaches_no_shard() {
    if !can_steer().await {
        return;
    }
    let mut server = serve("127.0.0.1:0").await;
    let relay = super::relay::Relay::start(server.addr.clone()).await;
    let client = connect(relay.addr()).await;
    let data = relay.last_to_server();
    client.close().await.unwrap();
    timeout(LONG, server.ended.recv()).await.unwrap().unwrap();
    server.threads.until_ended(1).await;
    let counts = &server.threads.counts;
    let served = counts.served.load(Relaxed);
    for _ in 0..50 {
        relay.send_to_server(&data).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(counts.served.load(Relaxed), served);
}
