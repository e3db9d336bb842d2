use super::{KeyAt, Misplaced, RouteUndecoded, ShardRaw};
use crate::serialize::{Anywhere, At, Bincode, Codec, Postcard, Serialize};
use crate::shard::service::map;
use crate::shard::{Keyed, LocalShards, ServerShard};
use bertha_core::{
    Addr, BoxFuture, Buf, Chunnel, ConnectContext, Connected, Connection, Connector, Describe, Error,
    ErrorKind, Node, Role, Wrap, make_stack, optimize, select,
};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use proptest::prelude::*;
use serde::{Deserialize, Serialize as Serde};
use std::collections::HashMap;
use std::sync::Mutex;

/// A request whose key is its first field, or behind a number of fixed size, or itself of fixed size, behind its length.
#[derive(Debug, Clone, PartialEq, Serde, Deserialize)]
struct First {
    key: Vec<u8>,
    id: u32,
}

#[derive(Debug, Clone, PartialEq, Serde, Deserialize)]
struct Second {
    id: u32,
    key: String,
}

impl Keyed for First {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

impl Keyed for Second {
    fn key(&self) -> &[u8] {
        self.key.as_bytes()
    }
}

#[derive(Debug, Clone, PartialEq, Serde, Deserialize)]
struct Third {
    length: [u8; 8],
    key: [u8; 16],
    id: u64,
}

impl Keyed for Third {
    fn key(&self) -> &[u8] {
        &self.key
    }
}

fn encoded<T, C: Codec<T>>(codec: &C, message: &T) -> Result<Vec<u8>, C::EncodeError> {
    let mut bytes = vec![0; 1000];
    let written = codec.encode(message, &mut bytes)?.unwrap();
    bytes.truncate(written);
    Ok(bytes)
}

proptest! {
    #[test]
    fn the_key_is_where_the_codec_promises(
        key in prop::collection::vec(any::<u8>(), 0..40),
        word in ".{0,10}",
        id: u32,
    ) {
        let first = First { key, id };
        let bytes = encoded(&KeyAt::<8>::default(), &first).unwrap();
        prop_assert_eq!(At::<8>::key(&bytes), Some(&first.key[..]));
        prop_assert_eq!(&bytes, &encoded(&Bincode::<100_000>, &first).unwrap());

        let second = Second { id, key: word };
        let bytes = encoded(&KeyAt::<12>::default(), &second).unwrap();
        prop_assert_eq!(At::<12>::key(&bytes), Some(second.key.as_bytes()));
    }

    #[test]
    fn a_short_key_has_a_place_in_postcard(key in prop::collection::vec(any::<u8>(), 0..200), id: u32) {
        let message = First { key, id };
        let codec = KeyAt::<1, Postcard>::default();
        match encoded(&codec, &message) {
            Ok(bytes) => {
                prop_assert!(message.key.len() < 128);
                prop_assert_eq!(At::<1>::key(&bytes), Some(&message.key[..]));
                prop_assert_eq!(&bytes, &encoded(&Postcard, &message).unwrap());
            }
            Err(refused) => {
                let is_misplaced = matches!(refused, Misplaced::Key { offset: 1 });
                prop_assert!(is_misplaced && message.key.len() >= 128);
            }
        }
    }

    #[test]
    fn a_key_of_fixed_size_has_a_place_in_postcard(key: [u8; 16], id: u64) {
        let message = Third { length: 16_u64.to_le_bytes(), key, id };
        let codec = KeyAt::<8, Postcard>::default();
        let bytes = encoded(&codec, &message).unwrap();
        prop_assert_eq!(At::<8>::key(&bytes), Some(&key[..]));
        prop_assert_eq!(&bytes, &encoded(&Postcard, &message).unwrap());
        let (decoded, _): (Third, usize) = codec.decode(&bytes).unwrap();
        prop_assert_eq!(decoded, message);
    }
}

#[test]
fn a_message_that_breaks_the_promise_is_not_sent() {
    let message = Second { id: 7, key: "key".into() };
    let refused = encoded(&KeyAt::<8>::default(), &message);
    assert!(matches!(refused, Err(Misplaced::Key { offset: 8 })), "{refused:?}");

    // Postcard's lengths are too short for a fixed place, and a length of another key is a lie.
    let first = First { key: vec![7; 16], id: 1 };
    assert!(matches!(encoded(&KeyAt::<8, Postcard>::default(), &first), Err(Misplaced::Key { .. })));
    let lie = Third { length: 15_u64.to_le_bytes(), key: [7; 16], id: 1 };
    assert!(matches!(encoded(&KeyAt::<8, Postcard>::default(), &lie), Err(Misplaced::Key { .. })));
}

fn fixed() -> Serialize<First, KeyAt<8>> {
    Serialize::new()
}

/// Opens the connections to shards, and records the layers that each shard had to agree on.
struct Opener {
    shards: Mutex<HashMap<Addr, PairConnection<TokioRuntime, Buf>>>,
    layers: Mutex<Vec<Vec<Node>>>,
}

impl Connector<PairConnection<TokioRuntime, Buf>> for Opener {
    fn connect<'a>(
        &'a self,
        to: Addr,
        layers: Vec<Node>,
    ) -> BoxFuture<'a, Result<Connected<PairConnection<TokioRuntime, Buf>>, Error>>
    where
        PairConnection<TokioRuntime, Buf>: 'a,
    {
        self.layers.lock().unwrap().push(layers);
        let opened = self.shards.lock().unwrap().remove(&to);
        let nobody = || Error::new(ErrorKind::Unreachable, "nobody there");
        Box::pin(async move { opened.map(Connected::from).ok_or_else(nobody) })
    }
}

#[tokio::test]
async fn messages_reach_the_shard_that_would_have_been_chosen_by_decoding() {
    let map = map(3);
    let (to_shards, shards): (HashMap<_, _>, Vec<_>) = map
        .shards()
        .iter()
        .map(|shard| {
            let (here, there) = pair_of(TokioRuntime);
            ((shard.clone(), here), there)
        })
        .unzip();
    let opener = Opener { shards: Mutex::new(to_shards), layers: Mutex::default() };
    let (raw_client, server) = pair_of(TokioRuntime);
    let router = ShardRaw::new(ServerShard::new(map.clone()), fixed());
    let server = router.connect_wrap(server, ConnectContext::new(&opener, Role::Server)).await.unwrap();

    // Malformed messages belong to no shard: too short, or with a key that ends behind the message.
    raw_client.send(Buf::copy_of(&[1, 2, 3], 0).unwrap()).await.unwrap();
    raw_client.send(Buf::copy_of(&[0xff; 30], 0).unwrap()).await.unwrap();
    let client = fixed().wrap(raw_client).await.unwrap();
    let serving = tokio::spawn(async move { server.recv().await });
    for (number, shard) in shards.into_iter().enumerate() {
        let map = map.clone();
        tokio::spawn(async move {
            let shard = fixed().wrap(shard).await.unwrap();
            while let Ok(First { key, id }) = shard.recv().await {
                assert_eq!(map.shard_of(&key), number);
                shard.send(First { key, id: id + 1000 }).await.unwrap();
            }
        });
    }
    for id in 0..200_u32 {
        let key = id.wrapping_mul(2_654_435_761).to_be_bytes()[..(id % 5) as usize].to_vec();
        client.send(First { key: key.clone(), id }).await.unwrap();
        assert_eq!(client.recv().await.unwrap(), First { key, id: id + 1000 });
    }
    client.close().await.unwrap();
    assert_eq!(serving.await.unwrap().unwrap_err().kind(), ErrorKind::Closed);

    let asked = opener.layers.into_inner().unwrap();
    assert_eq!(asked.len(), 3);
    for layers in asked {
        let [Node::Layer(layer)] = &layers[..] else { panic!("{layers:?}") };
        assert_eq!(layer.to_string(), "Serialize[bincode]");
    }
}

#[test]
fn it_describes_itself_as_the_layers_that_it_stands_for() {
    let by_hand = make_stack!(ShardRaw::new(ServerShard::new(map(2)), fixed()));
    let apart = make_stack!(ServerShard::new(map(2)), fixed());
    assert_eq!(by_hand.explain().to_string(), format!("ShardRaw({})", apart.explain()));
}

/// A foreign codec without a known offset of keys.
#[derive(Debug, Clone, Default)]
struct Theirs;

impl Codec<First> for Theirs {
    type EncodeError = std::fmt::Error;
    type DecodeError = std::fmt::Error;
    type Key = Anywhere;
    const NAME: &'static str = "theirs";

    fn encode(&self, _: &First, _: &mut [u8]) -> Result<Option<usize>, std::fmt::Error> {
        Ok(Some(0))
    }

    fn decode(&self, _: &[u8]) -> Result<(First, usize), std::fmt::Error> {
        Err(std::fmt::Error)
    }
}

#[test]
fn the_pass_applies_where_the_codec_knows_the_place_and_the_shards_are_remote() {
    let shard = || ServerShard::new(map(2));
    let changes = |reports: &[bertha_core::pass::Report]| reports[0].changes().len();

    assert_eq!(changes(optimize!(make_stack!(shard(), fixed()), RouteUndecoded).reports()), 1);
    let chosen = make_stack!(select!(make_stack!(shard(), fixed()), fixed()));
    assert_eq!(changes(optimize!(chosen, RouteUndecoded).reports()), 1);

    let third = make_stack!(shard(), Serialize::<Third, KeyAt<8, Postcard>>::new());
    assert_eq!(changes(optimize!(third, RouteUndecoded).reports()), 1);

    let anywhere = make_stack!(shard(), Serialize::<First, Bincode>::new());
    assert_eq!(changes(optimize!(anywhere, RouteUndecoded).reports()), 0);
    let short = make_stack!(shard(), Serialize::<First, KeyAt<1, Postcard>>::new());
    assert_eq!(changes(optimize!(short, RouteUndecoded).reports()), 1);
    let theirs = make_stack!(shard(), Serialize::<First, Theirs>::new());
    let stack = optimize!(theirs, RouteUndecoded);
    assert_eq!(
        stack.reports()[0].to_string(),
        "RouteUndecoded: changed nothing: ServerShard / Serialize stands there, but the pass's condition does not hold"
    );
    let (local, _queues) = LocalShards::<First>::new(2, 1);
    let local = make_stack!(shard().local(local).unwrap(), fixed());
    assert_eq!(changes(optimize!(local, RouteUndecoded).reports()), 0);
}
