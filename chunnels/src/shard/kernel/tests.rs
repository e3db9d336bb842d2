use super::*;
use crate::shard::service::{Message, map, message};
use bertha_core::{
    Addr, BoxFuture, Chunnel, ConnectContext, Connected, Connection, Connector, Error, ErrorKind, LayerInfo,
    Node, PeerLayers, Role,
};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

type Pair = PairConnection<TokioRuntime, Message>;

/// A connector that has siblings once.
struct WithSiblings(Mutex<Vec<Pair>>);

impl Connector<Pair> for WithSiblings {
    fn connect<'a>(&'a self, _: Addr, _: Vec<Node>) -> BoxFuture<'a, Result<Connected<Pair>, Error>>
    where
        Pair: 'a,
    {
        Box::pin(async { Err(Error::new(ErrorKind::Unavailable, "no further connections")) })
    }

    fn siblings<'a>(&'a self) -> BoxFuture<'a, Result<Vec<Pair>, Error>>
    where
        Pair: 'a,
    {
        Box::pin(async { Ok(std::mem::take(&mut *self.0.lock())) })
    }
}

/// Shards that send every request back, with the number of the shard in the place of the key.
#[derive(Clone)]
struct Echo;

impl ServeShards<Message> for Echo {
    fn serve<C: Connection<Data = Message>>(&self, shard: usize, sibling: C) {
        tokio::spawn(async move {
            let mut requests = Vec::new();
            while sibling.recv_batch(&mut requests, 16).await.is_ok() {
                let replies = requests.drain(..).map(|Message(_, number)| Message(shard.to_string(), number));
                sibling.send_batch(replies).await.unwrap();
            }
        });
    }
}

#[tokio::test]
async fn a_shard_answers_its_own_requests_and_drops_others() {
    const SHARDS: usize = 3;
    let (here, there): (Vec<_>, Vec<_>) = (0..SHARDS).map(|_| pair_of(TokioRuntime)).unzip();
    let connector = WithSiblings(Mutex::new(here));
    let context = ConnectContext::new(&connector, Role::Server);
    let (main, client) = pair_of(TokioRuntime);
    let chunnel = KernelShard::new(map(SHARDS)).serve(Echo);
    let main = chunnel.connect_wrap(main, context).await.unwrap();
    for (shard, kernel) in there.iter().enumerate() {
        // A kernel that picks the shard of every message without a look at its key.
        kernel.send_batch((0..60).map(message)).await.unwrap();
        let own = (0..60).filter(|number| map(SHARDS).shard_of(message(*number).0.as_bytes()) == shard);
        let own: Vec<_> = own.collect();
        assert!(!own.is_empty() && own.len() < 60);
        for number in own {
            assert_eq!(kernel.recv().await.unwrap(), Message(shard.to_string(), number));
        }
    }
    client.send(message(7)).await.unwrap();
    assert_eq!(
        main.recv().await.unwrap(),
        message(7),
        "what is not steered arrives at the connection itself"
    );
}

#[tokio::test]
async fn a_clients_bursts_leave_shard_by_shard() {
    let (here, there) = pair_of(TokioRuntime);
    let nowhere = WithSiblings(Mutex::default());
    let chunnel = KernelShard::new(map(4));
    let context = ConnectContext::new(&nowhere, Role::Client);
    let client = chunnel.connect_wrap(here, context).await.unwrap();
    client.send_batch((0..100).map(message)).await.unwrap();
    let mut sent = Vec::new();
    while sent.len() < 100 {
        there.recv_batch(&mut sent, 100).await.unwrap();
    }
    let shards: Vec<_> = sent.iter().map(|Message(key, _)| map(4).shard_of(key.as_bytes())).collect();
    let changes = shards.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(changes, 3, "{shards:?}");
    let mut by_shard: HashMap<_, Vec<_>> = HashMap::new();
    shards
        .iter()
        .zip(&sent)
        .for_each(|(shard, Message(_, number))| by_shard.entry(shard).or_default().push(*number));
    assert!(by_shard.values().all(|numbers| numbers.is_sorted()));
}

#[tokio::test]
async fn a_layer_below_that_joins_messages_is_refused_at_the_client() {
    let nowhere = WithSiblings(Mutex::default());
    let chunnel = KernelShard::new(map(2));
    let shard = || Node::from(LayerInfo::plain("KernelShard", 1));
    let below = |layer: LayerInfo| PeerLayers::new(vec![shard(), layer.into()], Vec::new());
    for (layer, is_refused) in
        [(LayerInfo::plain("Batch", 1), true), (LayerInfo::plain("Checksum", 1).apart(4), false)]
    {
        let peer = below(layer);
        let stack = bertha_core::make_stack!(chunnel.clone(), crate::Nothing);
        let context = ConnectContext::new(&nowhere, Role::Client).with_peer(Some(&peer));
        let made = stack.connect_wrap(pair_of::<_, Message>(TokioRuntime).0, context).await;
        assert_eq!(made.is_err(), is_refused);
        if let Err(error) = made {
            assert!(error.to_string().contains("Batch below it may join messages"), "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_without_shards_takes_all_requests_itself() {
    let nowhere = WithSiblings(Mutex::default());
    let (here, there) = pair_of(TokioRuntime);
    let context = ConnectContext::new(&nowhere, Role::Server);
    let server = Arc::new(KernelShard::new(map(2)).connect_wrap(here, context).await.unwrap());
    there.send(message(1)).await.unwrap();
    assert_eq!(server.recv().await.unwrap(), message(1));
}
