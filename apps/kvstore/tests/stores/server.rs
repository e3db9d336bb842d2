//! Whole stores over kernel UDP, with real clients.

use bertha::chunnels::{Checksum, ClientShard, ServerShard};
use bertha::prelude::*;
use bertha::{Addr, ErrorKind};
use bertha_kvstore::{
    Body, Capacity, Message, Messages, Options, Routing, Server, Sharding, Shards, shard_map,
};
use std::time::Duration;

const KEYS: usize = 300;

fn start(shards: Shards, sharding: Sharding) -> Server {
    Server::start(Options { shards, sharding, ..Options::default() }).unwrap()
}

/// Puts every key and reads it back. Requests whose replies are lost are repeated, as a client has to over
/// UDP.
async fn put_and_get(store: &impl Connection<Data = Message>) {
    let put = |key: usize| Message::put(key as u64, name(key), vec![key as u8; 10]);
    let get = |key: usize| Message::get((KEYS + key) as u64, name(key));
    for key in 0..KEYS {
        assert_eq!(ask(store, put(key)).await, Body::Stored);
    }
    for key in 0..KEYS {
        assert_eq!(ask(store, get(key)).await, Body::Found([key as u8; 10].into()));
    }
}

fn name(key: usize) -> String {
    format!("user{}", 7919 * key)
}

async fn ask(store: &impl Connection<Data = Message>, request: Message) -> Body {
    loop {
        store.send(request.clone()).await.unwrap();
        let waiting = async {
            loop {
                let reply = store.recv().await.unwrap();
                if reply.id == request.id {
                    return reply.body;
                }
            }
        };
        if let Ok(body) = tokio::time::timeout(Duration::from_millis(500), waiting).await {
            return body;
        }
    }
}

async fn exchange<S>(stack: S, server: &Server) -> String
where
    S: Negotiate + Sync,
    bertha::DefaultDatapath: Runs<S, Out: Connection<Data = Message>>,
{
    let store = stack.connect(bertha::datapath(), server.addr()).await.unwrap();
    put_and_get(&store).await;
    store.close().await.unwrap();
    store.explain().chunnels().collect::<Vec<_>>().join(" / ")
}

#[tokio::test]
async fn either_end_routes_and_both_see_the_same_records() {
    let server = start(Shards::Local(3), Sharding::Either);
    let (client, routed) = (ClientShard::new(server.map().clone()), ServerShard::new(server.map().clone()));
    let messages = make_stack!(Messages::new(), Checksum::new());

    let stack = make_stack!(routed.clone(), messages.clone());
    assert_eq!(exchange(stack, &server).await, "ServerShard / Serialize / Checksum");
    let stack = make_stack!(client.clone(), messages.clone());
    let store = stack.connect(bertha::datapath(), server.addr()).await.unwrap();
    for key in 0..KEYS {
        let found = ask(&store, Message::get(key as u64, name(key))).await;
        assert_eq!(
            found,
            Body::Found([key as u8; 10].into()),
            "what the router stored is there for its clients"
        );
    }
    let stack = make_stack!(select!(client, routed), messages);
    assert_eq!(
        exchange(stack, &server).await,
        "ClientShard / Serialize / Checksum",
        "the server prefers that"
    );
    server.stop().unwrap();
}

#[tokio::test]
async fn a_server_may_allow_one_kind_of_sharding_only() {
    for (sharding, agreed) in [
        (Sharding::Client, "ClientShard / Serialize / Checksum"),
        (Sharding::Server, "ServerShard / Serialize / Checksum"),
    ] {
        let server = start(Shards::Local(2), sharding);
        let (client, routed) =
            (ClientShard::new(server.map().clone()), ServerShard::new(server.map().clone()));
        let stack = make_stack!(select!(client, routed), Messages::new(), Checksum::new());
        assert_eq!(exchange(stack, &server).await, agreed);
    }
}

#[tokio::test]
async fn shards_may_be_elsewhere() {
    let shards =
        [(); 2].map(|()| Server::start_shard(([127, 0, 0, 1], 0).into(), Capacity::default(), None).unwrap());
    let addrs: Vec<_> = shards.iter().map(|shard| Addr::from(shard.addr())).collect();
    for routing in [Routing::Raw, Routing::Decoding] {
        for sharding in [Sharding::Either, Sharding::Server] {
            let shards = Shards::Remote(addrs.clone());
            let server = Server::start(Options { shards, sharding, routing, ..Options::default() }).unwrap();
            let map = server.map().clone();
            let (client, routed) = (ClientShard::new(map.clone()), ServerShard::new(map));
            let messages = make_stack!(Messages::new(), Checksum::new());
            let agreed = exchange(make_stack!(routed.clone(), messages.clone()), &server).await;
            assert_eq!(agreed, "ServerShard / Serialize / Checksum", "{routing:?}");
            let agreed = exchange(make_stack!(select!(client, routed), messages), &server).await;
            let side = if sharding == Sharding::Either { "Client" } else { "Server" };
            assert_eq!(agreed, format!("{side}Shard / Serialize / Checksum"), "{routing:?}");
        }
    }
}

#[tokio::test]
async fn a_client_with_another_map_is_refused() {
    let server = start(Shards::Local(2), Sharding::Either);
    let mut shards = server.map().shards().to_vec();
    shards.reverse();
    let stack = make_stack!(ClientShard::new(shard_map(shards).unwrap()), Messages::new(), Checksum::new());
    let error = stack.connect(bertha::datapath(), server.addr()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(error.to_string().contains("ClientShard"), "{error}");
}

#[tokio::test]
async fn stopping_closes_every_connection() {
    let server = start(Shards::Local(2), Sharding::Either);
    let client = make_stack!(ClientShard::new(server.map().clone()), Messages::new(), Checksum::new());
    let routed = make_stack!(ServerShard::new(server.map().clone()), Messages::new(), Checksum::new());
    let client = client.connect(bertha::datapath(), server.addr()).await.unwrap();
    let routed = routed.connect(bertha::datapath(), server.addr()).await.unwrap();
    ask(&client, Message::get(1, "user1")).await;
    ask(&routed, Message::get(1, "user1")).await;
    let stopping = tokio::task::spawn_blocking(|| server.stop());
    assert_eq!(client.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(routed.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    stopping.await.unwrap().unwrap();
}

#[test]
fn an_address_in_use_is_an_error_that_names_it() {
    let server = start(Shards::Local(1), Sharding::Either);
    let error = Server::start_shard(server.addr(), Capacity::default(), None).unwrap_err();
    assert!(error.to_string().contains(&server.addr().to_string()), "{error}");
    let everywhere = Options { addr: ([0, 0, 0, 0], 0).into(), ..Options::default() };
    let error = Server::start(everywhere).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}
