use super::{LocalShards, ReplyTo, ServerShard, ServerShardConnection, ServerShardStatistics, ShardQueue};
use crate::shard::service::{Message, addr, arrived, map, message, service};
use bertha_core::statistics::LayerRegistry;
use bertha_core::{Chunnel, ConnectContext, Connection, Either, Error, ErrorKind, Role, Statistics, forward};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use proptest::prelude::*;
use std::sync::Arc;
use std::task::{Context, Waker};

type Routing = ServerShardConnection<PairConnection<TokioRuntime, Message>>;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().build().unwrap()
}

fn routing(wrapped: Either<Routing, PairConnection<TokioRuntime, Message>>) -> Routing {
    match wrapped {
        Either::First(routing) => routing,
        Either::Second(_) => panic!("a server routes"),
    }
}

/// Returns a client's end, the server's connection to it, and the ends of a number of remote shards.
async fn remote(
    shards: usize,
) -> (PairConnection<TokioRuntime, Message>, Routing, Vec<PairConnection<TokioRuntime, Message>>) {
    let (opener, ends) = service(shards);
    let (client, server) = pair_of(TokioRuntime);
    let context = ConnectContext::new(&opener, Role::Server);
    let wrapped = ServerShard::new(map(shards)).connect_wrap(server, context).await.unwrap();
    (client, routing(wrapped), ends)
}

/// Returns the same ends with shards in this process.
async fn local(
    shards: usize,
    capacity: usize,
) -> (PairConnection<TokioRuntime, Message>, Routing, Vec<ShardQueue<Message>>) {
    let (local, queues) = LocalShards::new(shards, capacity);
    let (client, server) = pair_of(TokioRuntime);
    let chunnel = ServerShard::new(map(shards)).local(local).unwrap();
    let wrapped =
        chunnel.connect_wrap(server, ConnectContext::new(&service(0).0, Role::Server)).await.unwrap();
    (client, routing(wrapped), queues)
}

/// Routes for a while, as a `recv` whose future is then dropped.
fn route_once(server: &Routing) -> Option<Error> {
    let mut receiving = Box::pin(server.recv());
    match receiving.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        std::task::Poll::Ready(received) => Some(received.unwrap_err()),
        std::task::Poll::Pending => None,
    }
}

/// Takes the messages that have arrived.
fn take(queue: &mut ShardQueue<Message>, limit: usize) -> Vec<(Message, ReplyTo<Message>)> {
    let mut requests = Vec::new();
    let mut receiving = Box::pin(queue.recv_batch(&mut requests, limit));
    let _ = receiving.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    drop(receiving);
    requests
}

proptest! {
    #[test]
    fn requests_go_to_the_shards_that_a_routing_client_would_send_them_to(
        keys in prop::collection::vec(".{0,6}", 0..300),
        shards in 1..12_usize,
    ) {
        runtime().block_on(async {
            let messages: Vec<_> = keys.into_iter().enumerate().map(|(id, key)| Message(key, id)).collect();
            let (client, server, ends) = remote(shards).await;
            let (client_of_local, local_server, mut queues) = local(shards, 1000).await;
            client.send_batch(messages.iter().cloned()).await.unwrap();
            client_of_local.send_batch(messages.iter().cloned()).await.unwrap();
            for _ in 0..2 {
                assert!(route_once(&server).is_none());
                assert!(route_once(&local_server).is_none());
            }

            for (shard, (end, queue)) in ends.iter().zip(&mut queues).enumerate() {
                let belongs = |message: &&Message| map(shards).shard_of(message.0.as_bytes()) == shard;
                let share: Vec<_> = messages.iter().filter(belongs).cloned().collect();
                assert_eq!(arrived(end).await, share);
                let taken: Vec<_> = take(queue, 1000).into_iter().map(|(message, _)| message).collect();
                assert_eq!(taken, share);
            }
        });
    }
}

#[tokio::test]
async fn remote_shards_answer_through_the_server() {
    let (client, server, ends) = remote(3).await;
    let server = tokio::spawn(async move { server.recv().await });
    for end in ends {
        tokio::spawn(async move {
            while let Ok(Message(key, id)) = end.recv().await {
                end.send(Message(key, id + 1000)).await.unwrap();
            }
        });
    }
    for number in 0..100 {
        client.send(message(number)).await.unwrap();
        assert_eq!(client.recv().await.unwrap(), Message(message(number).0, number + 1000));
    }
    client.close().await.unwrap();
    assert_eq!(server.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn requests_are_counted_by_shard() {
    let (opener, ends) = service(3);
    let (client, server) = pair_of(TokioRuntime);
    let registry = LayerRegistry::new();
    let context = ConnectContext::new(&opener, Role::Server).with_registry(&registry);
    let server = routing(ServerShard::new(map(3)).connect_wrap(server, context).await.unwrap());
    client.send_batch((0..100).map(message)).await.unwrap();
    assert!(route_once(&server).is_none());
    ends[1].send_batch((0..7).map(message)).await.unwrap();
    (0..3).for_each(|_| assert!(route_once(&server).is_none()));
    let mut arrivals = Vec::new();
    for end in &ends {
        arrivals.push(arrived(end).await.len() as u64);
    }
    let mut statistics = Statistics::default();
    registry.observe(&mut statistics);
    let told: &ServerShardStatistics = statistics.get().unwrap();
    assert_eq!((&told.requests, told.replies), (&arrivals, 7));
    assert_eq!(arrivals.iter().sum::<u64>(), 100);
}

#[tokio::test]
async fn local_shards_answer_each_client_with_its_own_replies() {
    let (shards, queues) = LocalShards::new(3, 8);
    for mut queue in queues {
        tokio::spawn(async move {
            let mut requests = Vec::new();
            while queue.recv_batch(&mut requests, 4).await.is_ok() {
                for (Message(key, id), client) in requests.drain(..) {
                    client.send(Message(key, id + 1000));
                }
            }
        });
    }
    let chunnel = ServerShard::new(map(3)).local(shards).unwrap();
    let (opener, _) = service(0);
    let mut clients = Vec::new();
    for _ in 0..2 {
        let (client, server) = pair_of(TokioRuntime);
        let server =
            routing(chunnel.connect_wrap(server, ConnectContext::new(&opener, Role::Server)).await.unwrap());
        tokio::spawn(async move { server.recv_batch(&mut Vec::new(), 1).await });
        clients.push(client);
    }
    for number in 0..100 {
        for (which, client) in clients.iter().enumerate() {
            client.send(message(number * 2 + which)).await.unwrap();
        }
        for (which, client) in clients.iter().enumerate() {
            assert_eq!(client.recv().await.unwrap().1, number * 2 + which + 1000);
        }
    }
}

#[tokio::test]
async fn a_full_shard_holds_back_its_client_and_loses_nothing_when_receives_are_dropped() {
    let (client, server, mut queues) = local(1, 2).await;
    client.send_batch((0..200).map(message)).await.unwrap();
    let mut taken = Vec::new();
    for _ in 0..500 {
        // The yield renews the budget of tokio's channels, without which they report themselves empty or
        // full.
        tokio::task::yield_now().await;
        assert!(route_once(&server).is_none());
        // At most a burst and a full queue are in transit; the rest waits below.
        assert!(client.unreceived() + taken.len() + 64 + 2 >= 200);
        taken.extend(take(&mut queues[0], 1));
    }
    let taken: Vec<_> = taken.into_iter().map(|(message, _)| message).collect();
    assert_eq!(taken, (0..200).map(message).collect::<Vec<_>>());
    assert_eq!(server.dropped(), 0);
}

#[tokio::test]
async fn a_client_that_fetches_no_replies_loses_them() {
    let (client, server, mut queues) = local(1, 2).await;
    client.send(message(0)).await.unwrap();
    assert!(route_once(&server).is_none());
    let (_, reply_to) = take(&mut queues[0], 1).remove(0);
    (0..5).for_each(|number| reply_to.send(message(number)));
    assert_eq!(server.dropped(), 3);
    assert!(route_once(&server).is_none());
    assert_eq!(arrived(&client).await, [message(0), message(1)]);

    drop(server);
    reply_to.send(message(9));
}

#[tokio::test]
async fn a_remote_shard_that_dies_ends_the_connection_and_is_named() {
    let (_client, server, mut ends) = remote(3).await;
    assert!(route_once(&server).is_none());
    drop(ends.remove(1));
    let error = server.recv().await.unwrap_err();
    assert_eq!((error.kind(), error.chunnel()), (ErrorKind::Closed, Some("ServerShard")));
    assert!(error.to_string().contains(&format!("shard 1 at {}", addr(1))), "{error}");
    assert_eq!(ends[0].recv().await.unwrap_err().kind(), ErrorKind::Closed);
    // The error is permanent.
    assert_eq!(server.recv().await.unwrap_err().to_string(), error.to_string());
}

#[tokio::test]
async fn a_local_shard_that_dies_ends_the_connection_and_is_named() {
    let (client, server, mut queues) = local(2, 64).await;
    drop(queues.remove(1));
    client.send_batch((0..64).map(message)).await.unwrap();
    let error = server.recv().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
    assert!(error.to_string().contains("shard 1 at"), "{error}");
}

#[tokio::test]
async fn shards_end_with_the_last_server() {
    let (_client, server, mut queues) = local(1, 8).await;
    assert!(take(&mut queues[0], 1).is_empty());
    drop(server);
    assert_eq!(queues[0].recv_batch(&mut Vec::new(), 1).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn closing_closes_client_and_shards() {
    let (client, server, ends) = remote(2).await;
    server.close().await.unwrap();
    for end in ends.iter().chain([&client]) {
        assert_eq!(end.recv().await.unwrap_err().kind(), ErrorKind::Closed);
    }
    assert_eq!(server.recv().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_missing_shard_fails_the_connection() {
    let (opener, _ends) = service(1);
    let (_client, server) = pair_of(TokioRuntime);
    let context = ConnectContext::new(&opener, Role::Server);
    let error = ServerShard::new(map(2)).connect_wrap(server, context).await.unwrap_err();
    assert!(error.to_string().contains("shard 1 at 127.0.0.1:4001"), "{error}");
}

#[test]
fn as_many_queues_as_the_map_has_shards() {
    let (shards, _queues) = LocalShards::<Message>::new(2, 1);
    let error = ServerShard::new(map(3)).local(shards).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("3 shards, but 2 queues"), "{error}");
}

#[tokio::test]
async fn the_client_passes_everything_through() {
    let (client, server) = pair_of(TokioRuntime);
    let (opener, _) = service(0);
    let context = ConnectContext::new(&opener, Role::Client);
    let wrapped = ServerShard::new(map(2)).connect_wrap(client, context).await.unwrap();
    wrapped.send(message(1)).await.unwrap();
    assert_eq!(server.recv().await.unwrap(), message(1));
}

/// Refuses messages with odd numbers, and all messages after 100.
struct Picky(PairConnection<TokioRuntime, Message>);

impl Connection for Picky {
    type Data = Message;
    type Base = <PairConnection<TokioRuntime, Message> as Connection>::Base;

    forward!(self.0 => base, mtu, recv, drain, close);

    async fn send(&self, message: Message) -> Result<(), Error> {
        match message.1 {
            100.. => Err(Error::new(ErrorKind::Reset, "too often")),
            odd if odd % 2 == 1 => Err(Error::new(ErrorKind::TooLarge, "odd")),
            _ => self.0.send(message).await,
        }
    }
}

#[tokio::test]
async fn a_message_that_the_next_hop_can_not_take_is_dropped_and_counted() {
    let (client, server) = pair_of(TokioRuntime);
    let picky = Arc::new(Picky(client));
    let dropped = bertha_core::DropCounter::default();
    let forwarded =
        super::forward::forward(&*picky, (0..10).map(message).collect::<Vec<_>>().into_iter(), &dropped)
            .await;
    forwarded.unwrap();
    let numbers: Vec<_> = arrived(&server).await.into_iter().map(|message| message.1).collect();
    assert_eq!((numbers, dropped.get()), (vec![0, 2, 4, 6, 8], 5));

    let dropped = bertha_core::DropCounter::default();
    let ended = super::forward::forward(&*picky, [message(100), message(0)].into_iter(), &dropped).await;
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Reset);
}
