use super::{ClientShard, ClientShardConnection};
use crate::shard::service::{Message, addr, arrived, map, message, service};
use crate::shard::{ServerShard, ShardMap};
use bertha_core::{Capability, ConnectContext, Connection, Either, ErrorKind, Role};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use proptest::prelude::*;
use std::sync::Arc;
use std::task::{Context, Waker};

type Connected = ClientShardConnection<PairConnection<TokioRuntime, Message>>;

/// Returns a client connected to a number of shards, the server's end of its connection, and the shards'
/// ends.
async fn connect(
    shards: usize,
) -> (Connected, PairConnection<TokioRuntime, Message>, Vec<PairConnection<TokioRuntime, Message>>) {
    let (opener, ends) = service(shards);
    let (main, server) = pair_of(TokioRuntime);
    let wrapped = wrap(main, &map(shards), ConnectContext::new(&opener, Role::Client)).await;
    let Either::First(client) = wrapped.unwrap() else { panic!("a client routes") };
    (client, server, ends)
}

async fn wrap(
    main: PairConnection<TokioRuntime, Message>,
    map: &ShardMap,
    context: ConnectContext<'_, PairConnection<TokioRuntime, Message>>,
) -> Result<Either<Connected, PairConnection<TokioRuntime, Message>>, bertha_core::Error> {
    bertha_core::Chunnel::connect_wrap(&ClientShard::new(map.clone()), main, context).await
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

/// Returns the part of `messages` that belongs to a shard.
fn share(messages: &[Message], map: &ShardMap, shard: usize) -> Vec<Message> {
    messages.iter().filter(|message| map.shard_of(message.0.as_bytes()) == shard).cloned().collect()
}

proptest! {
    #[test]
    fn every_message_goes_to_the_shard_of_its_key_in_order(
        keys in prop::collection::vec(".{0,6}", 0..300),
        shards in 1..12_usize,
        alone in 0..5_usize,
    ) {
        runtime().block_on(async {
            let (client, server, ends) = connect(shards).await;
            let messages: Vec<_> = keys.into_iter().enumerate().map(|(id, key)| Message(key, id)).collect();
            let (first, rest) = messages.split_at(alone.min(messages.len()));
            for message in first {
                client.send(message.clone()).await.unwrap();
            }
            client.send_batch(rest.iter().cloned()).await.unwrap();
            for (shard, end) in ends.iter().enumerate() {
                assert_eq!(arrived(end).await, share(&messages, &map(shards), shard));
            }
            assert_eq!(arrived(&server).await, []);
        });
    }
}

#[tokio::test]
async fn replies_come_from_all_shards_in_turn() {
    for shards in [1, 6, 20] {
        let (client, _server, ends) = connect(shards).await;
        for end in &ends {
            end.send_batch((0..3).map(message)).await.unwrap();
        }
        for round in 0..2 {
            for _ in 0..shards {
                assert_eq!(client.recv().await.unwrap(), message(round), "of {shards} shards");
            }
        }
        let mut burst = Vec::new();
        while burst.len() < shards {
            client.recv_batch(&mut burst, 2).await.unwrap();
        }
        assert_eq!(burst, vec![message(2); shards]);
        assert_eq!(client.recv_batch(&mut burst, 0).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_burst_stays_a_burst_even_if_the_client_had_to_wait_for_it() {
    for shards in [6, 20] {
        let (client, _server, ends) = connect(shards).await;
        let mut burst = Vec::new();
        let receiving = client.recv_batch(&mut burst, 64);
        let sending = async {
            tokio::task::yield_now().await;
            ends[4].send_batch((0..10).map(message)).await.unwrap();
        };
        assert_eq!(futures_util::join!(receiving, sending).0.unwrap(), 10);
        assert_eq!(burst, (0..10).map(message).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_receive_that_is_dropped_loses_nothing() {
    for shards in [6, 20] {
        let (client, _server, ends) = connect(shards).await;
        for number in 0..50 {
            let mut receiving = Box::pin(client.recv());
            let polled = receiving.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
            ends[number % shards].send(message(number)).await.unwrap();
            if number % 2 == 0 {
                drop(receiving);
                assert_eq!(client.recv().await.unwrap(), message(number));
            } else {
                assert_eq!(receiving.await.unwrap(), message(number));
            }
        }
    }
}

#[tokio::test]
async fn a_dead_shard_is_an_error_that_names_it_and_the_others_work_on() {
    let (client, _server, mut ends) = connect(3).await;
    drop(ends.remove(1));
    let error = client.recv().await.unwrap_err();
    assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Closed, Some("ClientShard")));
    assert!(error.to_string().contains(&format!("shard 1 at {}", addr(1))), "{error}");

    let (mut sent, mut refused) = (0, 0);
    for number in 0..30 {
        match client.send(message(number)).await {
            Ok(()) => sent += 1,
            Err(error) => {
                assert!(error.to_string().contains("shard 1"), "{error}");
                refused += 1;
            }
        }
    }
    assert!(sent > 0 && refused > 0);
    ends[1].send(message(7)).await.unwrap();
    let mut replies = Vec::new();
    for _ in 0..3 {
        replies.extend(client.recv().await.ok());
    }
    assert_eq!(replies, [message(7)]);
}

#[tokio::test]
async fn a_burst_after_one_that_failed_is_sent_alone() {
    let (client, _server, ends) = connect(2).await;
    ends[0].close().await.unwrap();
    assert!(client.send_batch((0..64).map(message)).await.is_err());
    arrived(&ends[1]).await;

    let for_one = |message: &Message| map(2).shard_of(message.0.as_bytes()) == 1;
    let later: Vec<_> = (100..200).map(message).filter(for_one).collect();
    client.send_batch(later.clone().into_iter()).await.unwrap();
    assert_eq!(arrived(&ends[1]).await, later);
}

#[tokio::test]
async fn a_shard_that_does_not_answer_fails_the_connection() {
    let (opener, _ends) = service(2);
    let (main, _server) = pair_of(TokioRuntime);
    let error = wrap(main, &map(3), ConnectContext::new(&opener, Role::Client)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable);
    assert!(error.to_string().contains("shard 2 at 127.0.0.1:4002"), "{error}");
}

#[tokio::test]
async fn the_server_passes_everything_through() {
    let (client, server) = pair_of(TokioRuntime);
    let wrapped = wrap(server, &map(3), ConnectContext::new(&service(0).0, Role::Server)).await.unwrap();
    client.send(message(1)).await.unwrap();
    assert_eq!(wrapped.recv().await.unwrap(), message(1));
}

#[tokio::test]
async fn closing_closes_all_connections() {
    let (client, server, ends) = connect(3).await;
    client.close().await.unwrap();
    for end in ends.iter().chain([&server]) {
        assert_eq!(end.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    }
    assert_eq!(client.recv().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn only_ends_that_route_alike_accept_each_other() {
    let ours = ClientShard::new(map(3)).sharding();
    let accepts = |theirs| ours.compatible(&theirs).is_ok();
    assert!(accepts(ClientShard::new(map(3)).sharding()));
    assert!(!accepts(ServerShard::new(map(3)).sharding()));
    assert!(!accepts(ClientShard::new(map(2)).sharding()));
    assert!(!accepts(ClientShard::new(map(3).skip(4)).sharding()));
    let reversed = ShardMap::new([addr(2), addr(1), addr(0)]).unwrap();
    assert!(!accepts(ClientShard::new(reversed).sharding()));
}

#[tokio::test]
async fn whichever_shard_answers_wakes_the_client() {
    for shards in [8, 9] {
        let (client, _server, ends) = connect(shards).await;
        let client = Arc::new(client);
        for shard in (0..shards).rev() {
            let waiting = client.clone();
            // The call runs in a task of its own, so that it is polled by its own wake-up alone.
            let waiting = tokio::spawn(async move { waiting.recv().await });
            tokio::task::yield_now().await;
            ends[shard].send(message(shard)).await.unwrap();
            assert_eq!(waiting.await.unwrap().unwrap(), message(shard));
        }
    }
}
