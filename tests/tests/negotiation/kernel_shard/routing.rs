//! Every request reaches the shard of its key, and no other.

use super::scene::{LONG, Message, can_steer, connect, map, request, serve};
use bertha_core::{Addr, Connection};
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use tokio::time::timeout;

/// Number of requests that are sent before their replies are awaited: as many as queues hold.
const BURST: u64 = 60;

/// Returns keys of every length, which differ in the bytes that count, and in few others.
fn key(number: u64) -> Vec<u8> {
    let digits = format!("..{:04x}{number}", number.wrapping_mul(40_503) & 0xffff).repeat(10);
    let length = number as usize % 128;
    digits.as_bytes()[..length.min(digits.len())].to_vec()
}

async fn all_arrive(on: &str, host: Option<&str>) {
    let mut server = serve(on).await;
    let to = match (&server.addr, host) {
        (Addr::Ip(addr), Some(host)) => format!("{host}:{}", addr.port()).parse().unwrap(),
        (addr, _) => addr.clone(),
    };
    let client = connect(to).await;
    let counts = server.threads.counts.clone();
    let strays = counts.strays.load(Relaxed);
    let mut by_shard = HashMap::<usize, u64>::new();
    for first in (0..6_000).step_by(BURST as usize) {
        // Every second burst has messages of one length, which leave as segmented datagrams.
        let is_even = (first / BURST).is_multiple_of(2);
        let requests = (first..first + BURST).map(|id| {
            let key = if is_even { key(id * 128 + 8) } else { key(id) };
            request(id, key)
        });
        client.send_batch(requests).await.unwrap();
        let mut replies = Vec::new();
        while replies.len() < BURST as usize {
            timeout(LONG, client.recv_batch(&mut replies, 64)).await.expect("a request is lost").unwrap();
        }
        for Message { key, id, shard } in replies.drain(..) {
            assert!((first..first + BURST).contains(&id));
            assert_eq!(shard, Some(map().shard_of(&key)), "{key:?}");
            *by_shard.entry(shard.unwrap()).or_default() += 1;
        }
    }
    assert!(
        by_shard.len() == super::scene::SHARDS && by_shard.values().all(|&count| count > 600),
        "{by_shard:?}"
    );
    assert_eq!(counts.strays.load(Relaxed), strays, "the kernel steers all of them");
    client.close().await.unwrap();
    server.threads.until_ended(1).await;
    let (dropped, error) = timeout(LONG, server.ended.recv()).await.unwrap().unwrap();
    assert_eq!((dropped, error.kind()), (0, bertha_core::ErrorKind::Closed), "{error}");
}

#[tokio::test]
async fn every_key_reaches_its_shard() {
    if can_steer().await {
        all_arrive("127.0.0.1:0", None).await;
    }
}

#[tokio::test]
async fn every_key_reaches_its_shard_over_ipv6() {
    if can_steer().await {
        all_arrive("[::1]:0", None).await;
    }
}

#[tokio::test]
async fn a_server_at_all_addresses_answers_from_the_one_that_was_asked() {
    if can_steer().await {
        all_arrive("0.0.0.0:0", Some("127.0.0.2")).await;
    }
}

#[tokio::test]
async fn clients_share_the_shards() {
    if !can_steer().await {
        return;
    }
    let server = serve("127.0.0.1:0").await;
    let clients = (0..20).map(|number| {
        let addr = server.addr.clone();
        tokio::spawn(async move {
            let client = connect(addr).await;
            for id in 0..100 {
                let asked = request(id, format!("..{id:02}{number}"));
                let reply = super::scene::ask(&client, asked.clone()).await;
                assert_eq!((&reply.key, reply.shard), (&asked.key, Some(map().shard_of(&asked.key))));
            }
            client.close().await.unwrap();
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    server.threads.until_ended(20).await;
}
