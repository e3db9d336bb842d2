//! Several shards behind a single address.

use crate::Store;
use crate::clients::connect;
use bertha::chunnels::{Checksum, ClientShard};
use bertha::prelude::*;
use bertha_kvstore::{Body, Message, Messages, Options, Server, Shards};
use redis::AsyncCommands;

fn name(number: usize) -> String {
    format!("user{}", 7919 * number)
}

#[tokio::test]
async fn commands_on_several_shards_are_answered_in_their_order() {
    let store = Store::start(3);
    let map = store.server.map();
    let homes: std::collections::HashSet<_> = (0..100).map(|it| map.shard_of(name(it).as_bytes())).collect();
    assert_eq!(homes.len(), 3, "the keys of this test belong to all shards");
    // The kernel assigns the connections to any of the shards.
    for round in 0..8 {
        let mut client = connect(&format!("redis://{}", store.tcp())).await;
        let mut pipeline = redis::pipe();
        for number in 0..100 {
            pipeline.set(name(number), round * number).ignore();
            pipeline.cmd("INCR").arg(name(number));
            pipeline.cmd("PING").arg(number);
        }
        let replies: Vec<usize> = pipeline.query_async(&mut client).await.unwrap();
        let expected = (0..100).flat_map(|number| [round * number + 1, number]);
        assert!(replies.into_iter().eq(expected));
        let names: Vec<String> = (0..100).map(name).collect();
        let values: Vec<usize> = client.mget(&names).await.unwrap();
        assert!(values.into_iter().eq((0..100).map(|number| round * number + 1)));
    }
    let mut client = connect(&format!("redis+unix://{}", store.unix())).await;
    let names: Vec<String> = (0..101).map(name).collect();
    assert_eq!(client.del::<_, usize>(&names).await.unwrap(), 100);
}

#[tokio::test]
async fn clients_of_bertha_and_of_redis_see_the_same_records() {
    let store = Store::start(2);
    let mut redis = connect(&format!("redis://{}", store.tcp())).await;
    let map = store.server.map().clone();
    let stack = make_stack!(ClientShard::new(map), Messages::new(), Checksum::new());
    let bertha = stack.connect(bertha::datapath(), store.server.addr()).await.unwrap();
    for number in 0..20 {
        redis.set::<_, _, ()>(name(number), number).await.unwrap();
        bertha.send(Message::get(number as u64, name(number))).await.unwrap();
        let found = Body::Found(number.to_string().into_bytes().into());
        assert_eq!(bertha.recv().await.unwrap().body, found);
    }
    redis::cmd("SET").arg(name(1)).arg("x").arg("PX").arg(1).query_async::<()>(&mut redis).await.unwrap();
    loop {
        bertha.send(Message::get(1, name(1))).await.unwrap();
        match bertha.recv().await.unwrap().body {
            Body::Missing => break,
            body => assert_eq!(body, Body::Found(b"x"[..].into())),
        }
    }
}

#[test]
fn what_can_not_be_served_is_refused_at_the_start() {
    let resp = vec!["127.0.0.1:0".parse().unwrap()];
    let shards = Shards::Remote(vec!["127.0.0.1:1".parse().unwrap()]);
    let error = Server::start(Options { shards, resp, ..Options::default() }).unwrap_err();
    assert!(error.to_string().contains("local shards"), "{error}");
    let store = Store::start(1);
    let resp = vec![format!("unix:{}", store.unix()).parse().unwrap()];
    let error = Server::start(Options { resp, ..Options::default() }).unwrap_err();
    assert!(error.to_string().contains(&store.unix()), "{error}");
}
