//! A store whose requests the kernel hands to the shards.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests panic to fail, and tell what they skip"
)]

use bertha::ErrorKind;
use bertha::chunnels::{Checksum, KernelShard, ServerShard};
use bertha::prelude::*;
use bertha_kvstore::{Body, Message, Messages, Options, Server, Sharding, Shards};
use std::time::Duration;
use tokio::time::timeout;

const KEYS: u64 = 200;

/// Starts a store. Returns `None` if the kernel does not steer for this process, and tells so.
fn start(sharding: Sharding) -> Option<Server> {
    match Server::start(Options {
        shards: Shards::Local(3),
        sharding: Sharding::Kernel,
        ..Options::default()
    }) {
        Err(error)
            if error.kind() == ErrorKind::Unavailable && std::env::var("CI").as_deref() != Ok("true") =>
        {
            eprintln!("SKIPPED: {error}");
            None
        }
        Ok(server) if sharding == Sharding::Kernel => Some(server),
        started => {
            started.unwrap().stop().unwrap();
            Some(Server::start(Options { shards: Shards::Local(3), sharding, ..Options::default() }).unwrap())
        }
    }
}

async fn ask(store: &impl Connection<Data = Message>, request: Message) -> Body {
    loop {
        store.send(request.clone()).await.unwrap();
        while let Ok(reply) = timeout(Duration::from_secs(1), store.recv()).await {
            let reply = reply.unwrap();
            if (reply.id, reply.key.as_bytes()) == (request.id, request.key.as_bytes()) {
                return reply.body;
            }
        }
    }
}

fn name(number: u64) -> String {
    // Short keys too, which have few bytes or none behind the prefix.
    ["user", "us", "user-", "user12345678"][number as usize % 4].to_owned() + &number.to_string()
}

#[tokio::test]
async fn the_kernel_hands_requests_to_the_shards_and_all_clients_see_the_same_records() {
    for sharding in [Sharding::Kernel, Sharding::Either] {
        let Some(server) = start(sharding) else { return };
        let map = || server.map().clone();
        let lower = || make_stack!(Messages::new(), Checksum::new());
        let routing = select!(ServerShard::new(map()), KernelShard::new(map()));
        let store = make_stack!(routing, lower()).connect(bertha::datapath(), server.addr()).await.unwrap();
        let agreement = store.explain().to_string();
        assert!(agreement.starts_with("KernelShard / Serialize[postcard] / Checksum"), "{agreement}");
        for key in 0..KEYS {
            assert_eq!(ask(&store, Message::put(key, name(key), vec![key as u8; 10])).await, Body::Stored);
        }
        if sharding == Sharding::Either {
            let routed = make_stack!(ServerShard::new(map()), lower());
            let routed = routed.connect(bertha::datapath(), server.addr()).await.unwrap();
            for key in 0..KEYS {
                let found = ask(&routed, Message::get(KEYS + key, name(key))).await;
                assert_eq!(found, Body::Found([key as u8; 10].into()), "{}", name(key));
            }
            routed.close().await.unwrap();
        }
        store.close().await.unwrap();
        server.stop().unwrap();
    }
}

#[test]
fn shards_elsewhere_are_out_of_the_kernels_reach() {
    let elsewhere = Shards::Remote(vec!["127.0.0.1:9".parse().unwrap()]);
    let error =
        Server::start(Options { shards: elsewhere, sharding: Sharding::Kernel, ..Options::default() })
            .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
