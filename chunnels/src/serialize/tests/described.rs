//! Codecs whose messages tell the names of their fields, and hostile messages for them.

use super::{Malformed, Tree, accepts, bytes, encoded, over, refusal, twig, word};
use crate::serialize::{Bincode, Cbor, Codec, Encoding, Json, MessagePack, Postcard, Preencoded, Serialize};
use bertha_core::{Buf, Connection, Wrap};
use bertha_datapath_sim::pair_of;
use bertha_runtime::tokio::TokioRuntime;
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt::Debug;

fn decode<T: DeserializeOwned + Send + 'static, C: Codec<T> + Default>(bytes: &[u8]) -> Result<T, String> {
    match C::default().decode(bytes) {
        Ok((message, used)) if used == bytes.len() => Ok(message),
        Ok((_, used)) => Err(format!("{} bytes are left over", bytes.len() - used)),
        Err(reason) => Err(reason.to_string()),
    }
}

fn cbor<T: serde::Serialize + DeserializeOwned + Send + 'static>(bytes: &[u8]) -> Result<T, String> {
    decode::<T, Cbor>(bytes)
}

fn messagepack<T: serde::Serialize + DeserializeOwned + Send + 'static>(bytes: &[u8]) -> Result<T, String> {
    decode::<T, MessagePack>(bytes)
}

fn json<T: serde::Serialize + DeserializeOwned + Send + 'static>(text: &str) -> Result<T, String> {
    decode::<T, Json>(text.as_bytes())
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, Deserialize)]
struct Point {
    x: i32,
    y: i32,
}

#[test]
fn fields_have_names_and_come_in_any_order() {
    let point = Point { x: 1, y: -2 };
    assert_eq!(encoded(&Cbor, &point).unwrap(), b"\xa2\x61x\x01\x61y\x21");
    assert_eq!(encoded(&MessagePack, &point).unwrap(), b"\x82\xa1x\x01\xa1y\xfe");
    assert_eq!(encoded(&Json, &point).unwrap(), br#"{"x":1,"y":-2}"#);
    assert_eq!(cbor(b"\xa2\x61y\x21\x61x\x01"), Ok(point.clone()));
    assert_eq!(messagepack(b"\x82\xa1y\xfe\xa1x\x01"), Ok(point.clone()));
    assert_eq!(json(r#" {"y": -2, "more": [{}], "x": 1} "#), Ok(point));
}

#[test]
fn a_field_that_comes_twice_is_refused_and_a_key_of_a_map_has_its_last_value() {
    let twice = [
        cbor::<Point>(b"\xa3\x61x\x01\x61x\x01\x61y\x01"),
        messagepack(b"\x83\xa1x\x01\xa1x\x01\xa1y\x01"),
        json(r#"{"x":1,"x":1,"y":1}"#),
    ];
    for refused in twice {
        assert!(refused.unwrap_err().contains("duplicate field `x`"));
    }
    let last = BTreeMap::from([("k".to_owned(), 2)]);
    assert_eq!(cbor(b"\xa2\x61k\x01\x61k\x02"), Ok(last.clone()));
    assert_eq!(messagepack(b"\x82\xa1k\x01\xa1k\x02"), Ok(last.clone()));
    assert_eq!(json(r#"{"k":1,"k":2}"#), Ok(last));
}

#[test]
fn bytes_that_are_left_over_are_told() {
    fn in_front_of<C: Codec<Point> + Default>(rest: &[u8]) {
        let point = encoded(&C::default(), &Point { x: 1, y: 2 }).unwrap();
        let bytes = [&point, rest].concat();
        assert_eq!(C::default().decode(&bytes).unwrap(), (Point { x: 1, y: 2 }, point.len()));
        for short in 0..point.len() {
            assert!(C::default().decode(&point[..short]).is_err());
        }
    }
    for rest in [&b"\x01"[..], b"\xc1", b"\xff\xff\xff"] {
        in_front_of::<Cbor>(rest);
        in_front_of::<MessagePack>(rest);
        in_front_of::<Json>(rest);
    }
    assert_eq!(json("[1] \r\n\t"), Ok(vec![1]));
    assert!(json::<Vec<u8>>("[1] 2").is_err() && json::<u8>("1x").is_err() && json::<u8>(" ").is_err());
}

#[test]
fn elements_beyond_those_of_a_tuple_are_no_part_of_what_follows() {
    type Pairs = Vec<(u8, u8)>;
    assert_eq!(cbor::<Pairs>(b"\x82\x82\x01\x02\x82\x03\x04").unwrap(), [(1, 2), (3, 4)]);
    assert!(cbor::<Pairs>(b"\x82\x83\x01\x02\x03\x82\x03\x04").unwrap_err().contains("more elements"));
    assert!(cbor::<Pairs>(b"\x82\x9f\x01\x02\x03\xff\x82\x03\x04").unwrap_err().contains("more elements"));
    assert!(messagepack::<Pairs>(b"\x92\x93\x01\x02\x03\x92\x03\x04").is_err());
    assert!(json::<Pairs>("[[1,2,3],[3,4]]").is_err());
}

#[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
struct Blob {
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
    list: Vec<u8>,
}

#[test]
fn bytes_are_bytes_by_serde_bytes_and_numbers_otherwise() {
    let blob = || Blob { bytes: vec![0, 255], list: vec![0, 255] };
    assert_eq!(encoded(&Cbor, &blob()).unwrap(), b"\xa2\x65bytes\x42\x00\xff\x64list\x82\x00\x18\xff");
    assert_eq!(
        encoded(&MessagePack, &blob()).unwrap(),
        b"\x82\xa5bytes\xc4\x02\x00\xff\xa4list\x92\x00\xcc\xff"
    );
    assert_eq!(encoded(&Json, &blob()).unwrap(), br#"{"bytes":[0,255],"list":[0,255]}"#);
    // Bytes are read as a list, too, and a list as bytes.
    assert_eq!(cbor(b"\xa2\x65bytes\x82\x00\x18\xff\x64list\x42\x00\xff"), Ok(blob()));
    assert_eq!(messagepack(b"\x82\xa5bytes\x92\x00\xcc\xff\xa4list\xc4\x02\x00\xff"), Ok(blob()));
    assert_eq!(json(r#"{"bytes":[0,255],"list":[0,255]}"#), Ok(blob()));
}

#[test]
fn lengths_that_lie_take_no_memory() {
    // Each announces up to 2^64 elements, bytes or entries, and ends.
    for major in [0x40, 0x60, 0x80, 0xa0] {
        for length in [
            &b"\x1a\xff\xff\xff\xff"[..],
            b"\x1b\x7f\xff\xff\xff\xff\xff\xff\xff",
            &[0x1b, 255, 255, 255, 255, 255, 255, 255, 255],
        ] {
            let bytes = [&[major | length[0]], &length[1..]].concat();
            assert!(cbor::<Vec<[u64; 32]>>(&bytes).is_err() && cbor::<String>(&bytes).is_err());
            assert!(
                cbor::<serde_bytes::ByteBuf>(&bytes).is_err() && cbor::<BTreeMap<u8, u8>>(&bytes).is_err()
            );
            assert!(cbor::<Vec<()>>(&bytes).is_err() && cbor::<serde_json::Value>(&bytes).is_err());
        }
    }
    for marker in [0xc6, 0xdb, 0xdd, 0xdf] {
        let bytes = [marker, 255, 255, 255, 255];
        assert!(messagepack::<Vec<[u64; 32]>>(&bytes).is_err() && messagepack::<String>(&bytes).is_err());
        assert!(messagepack::<serde_bytes::ByteBuf>(&bytes).is_err());
        assert!(messagepack::<BTreeMap<u8, u8>>(&bytes).is_err() && messagepack::<Vec<()>>(&bytes).is_err());
        assert!(messagepack::<serde_json::Value>(&bytes).is_err());
    }
}

#[derive(Debug, Default, PartialEq, serde::Serialize, Deserialize)]
#[serde(default)]
struct Small {
    field: u8,
    /// The depth follows the use.
    below: Option<Box<Small>>,
}

/// A value that consumes no byte on its way down, unless the depth is bounded.
#[derive(Debug, PartialEq, serde::Serialize, Deserialize)]
struct Endless(Option<Box<Endless>>);

#[test]
fn depth_is_bounded_in_each_shape() {
    let many = 1 << 18;
    let deep = |front: &str, back: &str| [front.repeat(many), back.repeat(many)].concat();
    assert!(json::<Tree>(&deep(r#"{"Twig":"#, "}")).unwrap_err().contains("deeper than 128"));
    assert!(json::<Tree>(&deep(r#"{"Branch":["#, "]}")).is_err());
    assert!(json::<serde_json::Value>(&deep("[", "]")).unwrap_err().contains("deeper than 128"));
    assert!(json::<Small>(&deep(r#"{"below":"#, "}")).is_err());
    // What is skipped is skipped without recursion.
    assert_eq!(json(&[r#"{"no":"#, &deep("[", "]"), "}"].concat()), Ok(Small::default()));

    let skipped = |name: &[u8], level: &[u8]| [name, &level.repeat(many)[..], b"\x00"].concat();
    assert!(cbor::<Small>(&skipped(b"\xa1\x62no", b"\x81")).unwrap_err().contains("deeper than 128"));
    assert!(cbor::<Small>(&skipped(b"\xa1\x62no", b"\x9f")).is_err());
    assert!(cbor::<Small>(&skipped(b"\xa1\x62no", b"\xa1\x00")).is_err());
    assert!(cbor::<serde_json::Value>(&b"\x81".repeat(many)).is_err());
    // Tags are no levels.
    assert_eq!(cbor(&[&b"\xc7".repeat(many)[..], b"\x05"].concat()), Ok(5_u8));
    assert!(messagepack::<Small>(&skipped(b"\x81\xa2no", b"\x91")).unwrap_err().contains("deeper than 128"));
    assert!(messagepack::<Small>(&skipped(b"\x81\xa2no", b"\x81\x00")).is_err());
    assert!(messagepack::<serde_json::Value>(&b"\x91".repeat(many)).is_err());

    assert!(json::<Endless>("1").is_err() && cbor::<Endless>(b"\x01").is_err());
    assert!(messagepack::<Endless>(b"\x01").is_err());
    assert!(encoded(&Json, &twig(128)).is_ok() && encoded(&Json, &twig(129)).is_err());
    let deepest = encoded(&Json, &twig(128)).unwrap();
    assert_eq!(decode::<Tree, Json>(&deepest), Ok(twig(128)));
}

#[test]
fn reasons_are_short_and_without_control_characters() {
    let long = "\u{1b}[2J".repeat(100_000);
    let text = serde_json::to_string(&long).unwrap();
    let refused = json::<Tree>(&text).unwrap_err();
    assert!(refused.contains("unknown variant") && refused.chars().count() <= 200, "{refused}");
    assert!(!refused.chars().any(char::is_control), "{refused}");
}

#[test]
fn text_of_any_length_is_read() {
    for length in [0, 200, 255, 256, 257, 4095, 4096, 4097, 60_000] {
        let text = "é".repeat(length);
        assert_eq!(decode::<String, Cbor>(&encoded_long(&Cbor, &text)), Ok(text.clone()));
        let map = BTreeMap::from([(text.clone(), text.clone())]);
        assert_eq!(decode::<BTreeMap<String, String>, Cbor>(&encoded_long(&Cbor, &map)), Ok(map));
        assert_eq!(decode::<String, MessagePack>(&encoded_long(&MessagePack, &text)), Ok(text.clone()));
        assert_eq!(decode::<String, Json>(&encoded_long(&Json, &text)), Ok(text));
    }
}

fn encoded_long<T, C: Codec<T>>(codec: &C, message: &T) -> Vec<u8> {
    let mut space = vec![0; 1 << 18];
    let written = codec.encode(message, &mut space).unwrap().unwrap();
    space.truncate(written);
    space
}

#[tokio::test]
async fn malformed_messages_are_dropped_and_counted() {
    let (raw, there) = pair_of(TokioRuntime);
    let there = over::<Json>(there).await;
    for malformed in [&b""[..], b"{", b"{\"Word\":7}", b"\"Nothing\" 7", b"\xff"] {
        raw.send(bytes(malformed)).await.unwrap();
    }
    raw.send(bytes(b"{\"Word\": \"x\"}\n")).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), word(1));
    assert_eq!(there.malformed(), 5);
}

#[test]
fn names_of_types_are_not_compared_and_given_names_are() {
    let point = Serialize::<Point, Cbor>::new();
    assert!(accepts(&point, &Serialize::<BTreeMap<String, i32>, Cbor>::new()));
    assert!(!accepts(&point, &Serialize::<Point, Json>::new()));
    assert!(!accepts(&point, &Serialize::<Point, MessagePack>::new()));
    assert!(!accepts(&point, &point.clone().schema("point-2")));
    assert!(accepts(&Serialize::<u8, Cbor>::new().schema("point-2"), &point.clone().schema("point-2")));
    let refusal = refusal(&point, &point.clone().schema("point-2")).unwrap();
    assert!(refusal.contains("none") && refusal.contains("point-2"), "{refusal}");
    assert_eq!(format!("{point:?} {:?}", point.clone().schema("p")), "Serialize(cbor) Serialize(p as cbor)");
}

#[test]
fn an_end_that_encodes_by_itself_is_taken_for_serialize() {
    let point = Serialize::<Point, Cbor>::new();
    let named = |codec| Preencoded::new(Encoding::named(codec));
    assert!(accepts(&point, &named("cbor")) && accepts(&named("cbor"), &point));
    assert!(!accepts(&point, &named("json")) && !accepts(&named("json"), &point));
    assert!(accepts(&named("mine"), &named("mine")));
    let encoding = Encoding { schema: "p".into(), ..Encoding::named("cbor") };
    assert!(accepts(&Preencoded::new(encoding.clone()), &point.clone().schema("p")));
    assert!(!accepts(&Preencoded::new(encoding), &point));
    assert_eq!(*named("cbor").encoding(), point.encoding());
    assert_eq!(Encoding::named("postcard"), Encoding::of::<Point, _>(&Postcard));
    let bincode: Bincode = Bincode;
    assert_ne!(Encoding::named("bincode"), Encoding::of::<Point, _>(&bincode));
}

#[tokio::test]
async fn bytes_of_an_end_that_encodes_by_itself_pass_unchanged() {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let here = Preencoded::new(Encoding::named("json")).wrap(here).await.unwrap();
    let there = over::<Json>(there).await;
    here.send(bytes(b"{\"Word\": \"x\"}")).await.unwrap();
    assert_eq!(there.recv().await.unwrap(), word(1));
    there.send(word(2)).await.unwrap();
    assert_eq!(*here.recv().await.unwrap(), *b"{\"Word\":\"xx\"}");
}

/// Values of all kinds.
#[derive(Debug, Clone, PartialEq, serde::Serialize, Deserialize)]
struct Everything {
    numbers: (u8, i8, u16, i16, u32, i32, u64, i64),
    large: (u128, i128),
    floats: (f32, f64),
    flag: bool,
    nothing: (),
    letter: char,
    #[serde(with = "serde_bytes")]
    data: Vec<u8>,
    by_number: BTreeMap<i64, Kind>,
    maybe: Option<Box<Everything>>,
    #[serde(flatten)]
    more: BTreeMap<String, u32>,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, Deserialize)]
enum Kind {
    Unit,
    Newtype(String),
    Tuple(u8, Option<bool>),
    Struct { address: std::net::IpAddr },
    Unnamed(Unnamed),
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, Deserialize)]
#[serde(untagged)]
enum Unnamed {
    Number(u64),
    Point(Point),
    Words(Vec<String>),
}

fn any_kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Unit),
        ".{0,9}".prop_map(Kind::Newtype),
        any::<(u8, Option<bool>)>().prop_map(|(number, flag)| Kind::Tuple(number, flag)),
        any::<std::net::IpAddr>().prop_map(|address| Kind::Struct { address }),
        any::<u64>().prop_map(|number| Kind::Unnamed(Unnamed::Number(number))),
        any::<(i32, i32)>().prop_map(|(x, y)| Kind::Unnamed(Unnamed::Point(Point { x, y }))),
        prop::collection::vec(".{0,5}", 0..4).prop_map(|words| Kind::Unnamed(Unnamed::Words(words))),
    ]
}

fn any_everything() -> impl Strategy<Value = Everything> {
    let float = prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO;
    let single = prop::num::f32::NORMAL | prop::num::f32::SUBNORMAL | prop::num::f32::ZERO;
    let plain = (any::<(u8, i8, u16, i16, u32, i32, u64, i64)>(), any::<(u128, i128)>(), (single, float));
    let further = (any::<bool>(), any::<char>(), prop::collection::vec(any::<u8>(), 0..9));
    let maps = (
        prop::collection::btree_map(any::<i64>(), any_kind(), 0..4),
        prop::collection::btree_map("[A-Z]{1,4}", any::<u32>(), 0..3),
    );
    let one = (plain, further, maps).prop_map(
        |((numbers, large, floats), (flag, letter, data), (by_number, more))| {
            let (nothing, maybe) = ((), None);
            Everything { numbers, large, floats, flag, nothing, letter, data, by_number, maybe, more }
        },
    );
    one.prop_recursive(3, 4, 1, |below| {
        (below.clone(), below).prop_map(|(one, below)| Everything { maybe: Some(Box::new(below)), ..one })
    })
}

fn survives<C: Codec<Everything> + Default>(message: &Everything) {
    let bytes = encoded(&C::default(), message).unwrap();
    assert_eq!(decode::<Everything, C>(&bytes).as_ref(), Ok(message), "{bytes:02x?}");
}

proptest! {
    #[test]
    fn all_kinds_of_values_survive(message in any_everything()) {
        survives::<Cbor>(&message);
        survives::<MessagePack>(&message);
        survives::<Json>(&message);
    }

    #[test]
    fn no_damage_panics_a_decoder(message in any_everything(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        fn damaged<C: Codec<Everything> + Default>(message: &Everything, at: prop::sample::Index, byte: u8) {
            let mut bytes = encoded(&C::default(), message).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let _ = C::default().decode(&bytes);
        }
        damaged::<Cbor>(&message, at, byte);
        damaged::<MessagePack>(&message, at, byte);
        damaged::<Json>(&message, at, byte);
    }
}
