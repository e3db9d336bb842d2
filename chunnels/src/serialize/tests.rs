mod described;
mod vectors;

use super::{Cbor, Codec, Json, MessagePack, Postcard, Serialize};
use bertha_core::{Buf, Connection, Describe, ErrorKind, Node, Wrap};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use proptest::prelude::*;
use serde::{Deserialize, Serializer};
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, serde::Serialize, Deserialize)]
enum Message {
    Word(String),
    Numbers {
        list: Vec<i64>,
        map: BTreeMap<u8, Option<char>>,
    },
    Nothing,
    #[serde(skip_deserializing, serialize_with = "refuse")]
    Unencodable(u8),
}

fn refuse<S: Serializer>(_: &u8, _: S) -> Result<S::Ok, S::Error> {
    Err(serde::ser::Error::custom("never"))
}

fn word(length: usize) -> Message {
    Message::Word("x".repeat(length))
}

async fn over<C: Codec<Message> + Default>(
    raw: PairConnection<TokioRuntime, Buf>,
) -> impl Connection<Data = Message> + Malformed + std::marker::Sized {
    Serialize::<Message, C>::new().wrap(raw).await.unwrap()
}

trait Malformed {
    fn malformed(&self) -> u64;
}

impl<C: Codec<Message>> Malformed
    for super::SerializeConnection<PairConnection<TokioRuntime, Buf>, Message, C>
{
    fn malformed(&self) -> u64 {
        self.malformed()
    }
}

fn bytes(content: &[u8]) -> Buf {
    Buf::copy_of(content, 0).unwrap()
}

async fn both_ways<C: Codec<Message> + Default>() {
    let (here, there) = pair_of(TokioRuntime);
    let (here, there) = (over::<C>(here).await, over::<C>(there).await);
    // Across all sizes of buffers that are tried.
    for length in [0, 10, 300, 3_000, 60_000, 5] {
        here.send(word(length)).await.unwrap();
        assert_eq!(there.recv().await.unwrap(), word(length));
    }
    let burst = [word(1), Message::Nothing, word(50_000)];
    there.send_batch(burst.clone().into_iter()).await.unwrap();
    let mut got = Vec::new();
    while got.len() < burst.len() {
        here.recv_batch(&mut got, 2).await.unwrap();
    }
    assert_eq!(got, burst);
    assert_eq!((here.malformed(), there.malformed()), (0, 0));
}

#[tokio::test]
async fn messages_and_bursts_arrive_as_they_were_sent() {
    both_ways::<super::Bincode>().await;
    both_ways::<Postcard>().await;
    both_ways::<Cbor>().await;
    both_ways::<MessagePack>().await;
    both_ways::<Json>().await;
}

#[tokio::test]
async fn a_message_is_not_sent_in_a_larger_buffer_than_its_own_size_calls_for() {
    let (here, raw) = pair_of::<_, Buf>(TokioRuntime);
    let here = over::<super::Bincode>(here).await;
    here.send(word(100)).await.unwrap();
    let sent = raw.recv().await.unwrap();
    assert!(sent.len() + sent.tailroom() <= 512, "{sent:?}");
}

#[tokio::test]
async fn malformed_messages_are_dropped_and_counted() {
    let (raw, there) = pair_of(TokioRuntime);
    let there = over::<super::Bincode>(there).await;
    let nothing = [2, 0, 0, 0];
    raw.send(bytes(&[])).await.unwrap();
    raw.send(bytes(&[9, 0, 0, 0])).await.unwrap();
    raw.send(bytes(&[2, 0, 0, 0, 77])).await.unwrap();
    // A word of 2^60 bytes.
    raw.send(bytes(&[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 16])).await.unwrap();
    raw.send(bytes(&nothing)).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), Message::Nothing);
    assert_eq!(there.malformed(), 4);

    // A burst of malformed messages alone must not return zero.
    raw.send_batch([bytes(&[1]), bytes(&[2]), bytes(&nothing), bytes(&[3]), bytes(&nothing)].into_iter())
        .await
        .unwrap();
    let mut got = Vec::new();
    assert_eq!(there.recv_batch(&mut got, 2).await.unwrap(), 1);
    assert_eq!(there.recv_batch(&mut got, 2).await.unwrap(), 1);
    assert_eq!(got, [Message::Nothing, Message::Nothing]);
    assert_eq!(there.malformed(), 7);
    assert_eq!(there.recv_batch(&mut got, 0).await.unwrap(), 0);
}

#[tokio::test]
async fn a_message_that_is_too_large_fails_alone() {
    let (here, there) = pair_of(TokioRuntime);
    let (here, there) = (over::<Postcard>(here).await, over::<Postcard>(there).await);
    let error = here.send(word(65_507)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("65507"), "{error}");
    here.send(word(1)).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), word(1));
}

#[tokio::test]
async fn the_decoders_limit_is_the_encoders_too() {
    let (here, _there) = pair_of(TokioRuntime);
    let here = Serialize::<Vec<u8>, super::Bincode<100>>::new().wrap(here).await.unwrap();
    here.send(vec![0; 92]).await.unwrap();
    let error = here.send(vec![0; 93]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(error.to_string().contains("100 bytes, the limit of the codec bincode"), "{error}");
}

#[tokio::test]
async fn the_default_limit_is_above_that_of_the_connection_below() {
    let (here, _there) = pair_of(TokioRuntime);
    let here = over::<super::Bincode>(here).await;
    let error = here.send(word(65_507)).await.unwrap_err();
    assert!(error.to_string().contains("65507 bytes, all that the connection below carries"), "{error}");
}

#[cfg(feature = "fragment")]
#[tokio::test]
async fn the_default_limit_lets_pass_what_fragment_carries() {
    use crate::Fragment;
    use bertha_core::make_stack;
    type Bytes = Vec<u8>;
    let (here, there) = pair_of(TokioRuntime);
    let stack = make_stack!(Serialize::<Bytes>::new(), Fragment::new());
    let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
    here.send(vec![7; 1 << 20]).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), vec![7; 1 << 20]);

    let (here, _there) = pair_of(TokioRuntime);
    let stack = make_stack!(Serialize::<Bytes, super::Bincode<65_536>>::new(), Fragment::new());
    let error = stack.wrap(here).await.unwrap().send(vec![7; 1 << 20]).await.unwrap_err();
    assert!(error.to_string().contains("65536 bytes, the limit of the codec bincode"), "{error}");
}

#[tokio::test]
async fn a_burst_ends_at_the_first_message_without_an_encoding() {
    let (here, there) = pair_of(TokioRuntime);
    let (here, there) = (over::<super::Bincode>(here).await, over::<super::Bincode>(there).await);
    let mut burst = [word(1), Message::Unencodable(0), word(2), word(3)].into_iter();
    let error = here.send_batch(&mut burst).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    assert!(std::error::Error::source(&error).is_some());
    assert_eq!(burst.next(), Some(word(2)));

    let mut got = Vec::new();
    assert_eq!(there.recv_batch(&mut got, 9).await.unwrap(), 1);
    assert_eq!(got, [word(1)]);
}

fn accepts(ours: &impl Describe, theirs: &impl Describe) -> bool {
    refusal(ours, theirs).is_none()
}

/// Returns the reason for which an end refuses the other end.
fn refusal(ours: &impl Describe, theirs: &impl Describe) -> Option<String> {
    let (ours, theirs) = (ours.nodes(), theirs.nodes());
    let ([Node::Layer(ours)], [Node::Layer(theirs)]) = (&ours[..], &theirs[..]) else { panic!("a layer") };
    let (ours, theirs) = (ours.capability(), theirs.capability());
    let compared = ours.compare(theirs.id(), theirs.version(), &theirs.encode().unwrap());
    compared.err().map(|mismatch| mismatch.to_string())
}

#[test]
fn ends_with_different_encodings_refuse_each_other() {
    let own = Serialize::<Message>::new();
    assert!(accepts(&own, &own.clone()));
    assert!(accepts(&own, &Serialize::<Message>::with_codec(Postcard)));
    let fixed = Serialize::<Message, super::Bincode>::new();
    assert!(!accepts(&own, &fixed));
    assert!(!accepts(&fixed, &Serialize::<Message, super::Bincode<100>>::new()));
    assert!(!accepts(&own, &Serialize::<Vec<u8>>::new()));
    assert!(!accepts(&own, &own.clone().schema("message-2")));
    assert!(accepts(&own, &Serialize::<Vec<u8>>::new().schema("Message")));
    assert_eq!(format!("{own:?}"), "Serialize(Message as postcard)");
}

/// A type whose values hold values of the same type.
#[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
enum Tree {
    Leaf,
    Branch(Vec<Tree>),
    Twig(Box<Tree>),
}

fn twig(levels: usize) -> Tree {
    (1..levels).fold(Tree::Leaf, |tree, _| Tree::Twig(Box::new(tree)))
}

fn encoded<T, C: Codec<T>>(codec: &C, message: &T) -> Result<Vec<u8>, C::EncodeError> {
    let mut space = vec![0; 1 << 16];
    let written = codec.encode(message, &mut space)?.unwrap();
    space.truncate(written);
    Ok(space)
}

/// The arguments are the encodings of a `Twig` without its content, of a `Leaf`, and of a `Branch` of one without its content.
fn bounds_the_depth<C: Codec<Tree> + Default>(twig_alone: &[u8], leaf: &[u8], branch_of_one: &[u8]) {
    let codec = C::default();
    let deepest = twig(128);
    let bytes = encoded(&codec, &deepest).unwrap();
    assert_eq!(bytes, [twig_alone.repeat(127), leaf.to_vec()].concat());
    assert_eq!(codec.decode(&bytes).unwrap().0, deepest);

    assert!(encoded(&codec, &twig(129)).is_err());
    assert!(codec.decode(&[twig_alone, &bytes].concat()).is_err());
    // A megabyte of each would need far more stack than a thread has.
    for level in [twig_alone, branch_of_one] {
        assert!(codec.decode(&level.repeat((1 << 20) / level.len())).is_err());
    }
    // The program's own values, too: far more levels than are sent, and few enough to be dropped.
    assert!(encoded(&codec, &twig(5_000)).is_err());
}

#[test]
fn values_nested_too_deep_are_refused_on_both_ways() {
    bounds_the_depth::<Postcard>(&[2], &[0], &[1, 1]);
    bounds_the_depth::<super::Bincode>(&[2, 0, 0, 0], &[0, 0, 0, 0], &[1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    bounds_the_depth::<Cbor>(b"\xa1\x64Twig", b"\x64Leaf", b"\xa1\x66Branch\x81");
    bounds_the_depth::<MessagePack>(b"\x81\xa4Twig", b"\xa4Leaf", b"\x81\xa6Branch\x91");
}

#[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
struct Empty;

type Empties = (Vec<Empty>, Vec<()>, BTreeMap<(), ()>);

fn bounds_elements_without_bytes<C: Codec<Vec<Vec<Empty>>> + Codec<Empties> + Default>(
    length: impl Fn(u64) -> Vec<u8>,
) {
    let codec = C::default();
    let decode = |bytes: &[u8]| Codec::<Vec<Vec<Empty>>>::decode(&codec, bytes);
    let few = || (0..500).map(|_| Empty).collect::<Vec<_>>();
    let bytes = encoded(&codec, &vec![few(), few()]).unwrap();
    assert_eq!(decode(&bytes).unwrap().0, [few(), few()]);

    // As many as the message announces would be made otherwise.
    for count in [1 << 12, 1 << 32, 1 << 62] {
        assert!(decode(&[length(1), length(count)].concat()).is_err());
        // Each sequence of a map, and of structs, is one.
        for empty in [[count, 0, 0], [0, count, 0], [0, 0, count]] {
            let bytes = empty.map(&length).concat();
            assert!(Codec::<Empties>::decode(&codec, &bytes).is_err());
        }
    }
    // All sequences of a message count together.
    let many = [length(100), length(1_000).repeat(100)].concat();
    assert!(decode(&many).is_err());
}

#[test]
fn elements_without_bytes_are_counted() {
    bounds_elements_without_bytes::<super::Bincode>(|length| length.to_le_bytes().to_vec());
    bounds_elements_without_bytes::<Postcard>(|length| encoded(&Postcard, &length).unwrap());
}

#[tokio::test]
async fn a_message_that_is_nested_too_deep_fails_alone() {
    let (here, there) = pair_of(TokioRuntime);
    let stack = Serialize::<Tree, Postcard>::new();
    let (here, there) = (stack.wrap(here).await.unwrap(), stack.wrap(there).await.unwrap());
    let error = here.send(twig(200)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
    let reason = std::error::Error::source(&error).unwrap().to_string();
    assert!(reason.contains("deeper than 128 levels"), "{reason}");
    here.send(Tree::Branch(vec![Tree::Leaf, twig(3)])).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), Tree::Branch(vec![Tree::Leaf, twig(3)]));
}

fn any_message() -> impl Strategy<Value = Message> {
    prop_oneof![
        ".{0,40}".prop_map(Message::Word),
        (
            prop::collection::vec(any::<i64>(), 0..20),
            prop::collection::btree_map(any::<u8>(), any::<Option<char>>(), 0..9)
        )
            .prop_map(|(list, map)| Message::Numbers { list, map }),
        Just(Message::Nothing),
    ]
}

fn survives<C: Codec<Message> + Default>(message: &Message) {
    let codec = C::default();
    let mut space = [0; 4096];
    let written = codec.encode(message, &mut space).unwrap().unwrap();
    let (decoded, used) = codec.decode(&space[..written]).unwrap();
    assert_eq!((&decoded, used), (message, written));
    // A buffer that is too small is no error.
    for len in 0..written {
        assert_eq!(codec.encode(message, &mut space[..len]).unwrap(), None);
    }
}

proptest! {
    #[test]
    fn every_message_survives_each_codec(message in any_message()) {
        survives::<super::Bincode>(&message);
        survives::<Postcard>(&message);
        survives::<Cbor>(&message);
        survives::<MessagePack>(&message);
        survives::<Json>(&message);
    }

    #[test]
    fn no_bytes_panic_a_decoder(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Codec::<Message>::decode(&super::Bincode::<100_000>, &bytes);
        let _ = Codec::<Message>::decode(&Postcard, &bytes);
        let _ = Codec::<Message>::decode(&Cbor, &bytes);
        let _ = Codec::<Message>::decode(&MessagePack, &bytes);
        let _ = Codec::<Message>::decode(&Json, &bytes);
    }
}
