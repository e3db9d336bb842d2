//! Arbitrary messages for the codecs that describe themselves, and for the others.

use bertha_chunnels::serialize::{Bincode, Cbor, Codec, Json, MessagePack, Postcard};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A message whose values hold values of every kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Tree {
    Leaf,
    Number(i64),
    Large(u128),
    Float(f64),
    Text(String),
    Letters(char, Option<bool>),
    Twig(Box<Tree>),
    Branch(Vec<Tree>),
    Named(BTreeMap<String, Tree>),
    Fork { left: Option<Box<Tree>>, sizes: (u8, i16), ids: BTreeMap<u32, [u8; 2]> },
}

/// A message of which serde keeps values before it knows their types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Loose {
    name: String,
    either: Either,
    #[serde(flatten)]
    more: BTreeMap<String, Either>,
}

/// A value whose form alone tells what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Text(String),
    Many(Vec<Either>),
    Pair { x: u8, y: Box<Option<Either>> },
}

/// Decodes these bytes by each codec, as messages of several types. What decodes has an encoding, which decodes to the same.
pub fn messages(bytes: &[u8]) {
    check::<Tree, Postcard>(bytes);
    check::<Tree, Bincode>(bytes);
    each::<Tree>(bytes);
    each::<Loose>(bytes);
    each::<Vec<(u64, String)>>(bytes);
}

fn each<T: Serialize + DeserializeOwned + Send + 'static>(bytes: &[u8]) {
    check::<T, Cbor>(bytes);
    check::<T, MessagePack>(bytes);
    check::<T, Json>(bytes);
}

fn check<T, C: Codec<T> + Default>(bytes: &[u8]) {
    let codec = C::default();
    match codec.decode(bytes) {
        Ok((message, used)) => {
            assert!(used <= bytes.len());
            // Compared by their encodings, since not every float equals itself.
            let encoded = encode(&codec, &message);
            let (again, all) = codec.decode(&encoded).unwrap_or_else(|error| panic!("{}: {error}", C::NAME));
            assert_eq!((encode(&codec, &again), all), (encoded.clone(), encoded.len()));
        }
        Err(error) => assert!(error.to_string().chars().count() <= 300),
    }
}

fn encode<T, C: Codec<T>>(codec: &C, message: &T) -> Vec<u8> {
    let mut space = vec![0; 4096];
    loop {
        match codec.encode(message, &mut space) {
            Ok(Some(written)) => {
                space.truncate(written);
                return space;
            }
            Ok(None) => space.resize(space.len() * 2, 0),
            Err(error) => panic!("{}: {error}", C::NAME),
        }
    }
}

/// Returns messages as each codec writes them, and some that are nearly right.
pub fn good_messages() -> Vec<Vec<u8>> {
    let named = BTreeMap::from([("a".into(), Tree::Float(-0.5)), ("ß".into(), Tree::Text("\u{1}é".into()))]);
    let fork = Tree::Fork {
        left: Some(Box::new(Tree::Twig(Box::new(Tree::Number(-70_000))))),
        sizes: (200, -300),
        ids: BTreeMap::from([(70_000, [1, 2])]),
    };
    let letters = Tree::Letters('ж', Some(true));
    let tree = Tree::Branch(vec![Tree::Leaf, letters, Tree::Named(named), fork, Tree::Large(1 << 100)]);
    let pair = Either::Pair { x: 9, y: Box::new(Some(Either::Text("t".into()))) };
    let many = Either::Many(vec![Either::Number(-1), pair]);
    let loose = Loose { name: "n".into(), either: many.clone(), more: BTreeMap::from([("z".into(), many)]) };
    let pairs = vec![(1_u64, "one".to_owned()), (u64::MAX, String::new())];
    let deep = (0..60).fold(Tree::Leaf, |tree, _| Tree::Twig(Box::new(tree)));
    let bincode: Bincode = Bincode;
    let mut good = vec![encode(&Postcard, &tree), encode(&bincode, &tree)];
    good.extend([encode(&Cbor, &tree), encode(&MessagePack, &tree), encode(&Json, &tree)]);
    good.extend([encode(&Cbor, &loose), encode(&MessagePack, &loose), encode(&Json, &loose)]);
    good.extend([encode(&Cbor, &pairs), encode(&MessagePack, &pairs), encode(&Json, &pairs)]);
    good.extend([encode(&Cbor, &deep), encode(&MessagePack, &deep), encode(&Json, &deep)]);
    let nearly: [&[u8]; 8] = [
        b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x9f\x9f\x82\x01\x61a\x82\x02\x7f\x61b\x61c\xff\xff\xff",
        b"\xbf\x66Branch\x81\x82\xc1\xf5\xff",
        b"\xdd\xff\xff\xff\xff",
        b"\x81\xa5Large\xc4\x10\x00",
        b"{\"Named\":{\"\\ud800\":1e999}}",
        b"[[1,\"\\u0000\"],[1e0,\"x\",{}]]",
        b"\xa1\x65Large\xc2\x51\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
    ];
    good.extend(nearly.map(<[u8]>::to_vec));
    good
}

#[test]
fn most_of_the_messages_are_messages() {
    let good = good_messages();
    let is_tree = |bytes: &[u8]| {
        let read = |codec: Result<(Tree, usize), String>| codec.is_ok_and(|(_, used)| used == bytes.len());
        read(Cbor.decode(bytes).map_err(|error| error.to_string()))
            || read(MessagePack.decode(bytes).map_err(|error| error.to_string()))
            || read(Json.decode(bytes).map_err(|error| error.to_string()))
    };
    let trees: Vec<_> = (0..good.len()).filter(|at| is_tree(&good[*at])).collect();
    assert_eq!(trees, [2, 3, 4, 11, 12, 13]);
}
