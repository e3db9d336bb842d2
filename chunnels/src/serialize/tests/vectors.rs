//! Messages that Python has written: by `cbor2` 6.3.0, `msgpack` 1.2.4 and the `json` of Python 3.11, each with its default settings, from
//!
//! ```python
//! {"id": 7, "name": "Zoë", "price": 2.5, "tags": ["a", "b"], "rest": None, "extra": {"left": -1, "big": 2**63}, "state": "Open",
//!  "last": {"Paid": {"cents": 1250}}, "data": b"\x00\xff"}
//! ```
//!
//! with `"data": list(b"\x00\xff")` for JSON. They are read by the same libraries: what this crate writes for the same message differs in the
//! form of floats and in spaces alone.

use super::encoded;
use crate::serialize::{Cbor, Codec, Json, MessagePack};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const CBOR: &str = "a962696407646e616d65645a6fc3ab657072696365fb4004000000000000647461677382616161626472657374f6656578747261a2646c\
    65667420636269671b8000000000000000657374617465644f70656e646c617374a16450616964a16563656e74731904e264646174614200ff";
const MESSAGEPACK: &str = "89a2696407a46e616d65a45a6fc3aba57072696365cb4004000000000000a47461677392a161a162a472657374c0a56578747261\
    82a46c656674ffa3626967cf8000000000000000a57374617465a44f70656ea46c61737481a45061696481a563656e7473cd04e2a464617461c40200ff";
const JSON: &str = r#"{"id": 7, "name": "Zo\u00eb", "price": 2.5, "tags": ["a", "b"], "rest": null, "extra": {"left": -1, "big": 9223372036854775808}, "state": "Open", "last": {"Paid": {"cents": 1250}}, "data": [0, 255]}"#;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Order {
    id: u64,
    name: String,
    price: f64,
    tags: Vec<String>,
    rest: Option<u8>,
    extra: BTreeMap<String, i128>,
    state: State,
    last: State,
    #[serde(with = "serde_bytes")]
    data: Vec<u8>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum State {
    Open,
    Paid { cents: u32 },
}

fn order() -> Order {
    Order {
        id: 7,
        name: "Zoë".into(),
        price: 2.5,
        tags: vec!["a".into(), "b".into()],
        rest: None,
        extra: BTreeMap::from([("left".into(), -1), ("big".into(), 1 << 63)]),
        state: State::Open,
        last: State::Paid { cents: 1250 },
        data: vec![0, 255],
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digit = |digit: u8| u8::try_from(char::from(digit).to_digit(16).unwrap()).unwrap();
    hex.as_bytes().chunks(2).map(|digits| digit(digits[0]) << 4 | digit(digits[1])).collect()
}

fn reads<C: Codec<Order>>(codec: &C, bytes: &[u8]) {
    let (read, used) = codec.decode(bytes).unwrap();
    assert_eq!((read, used), (order(), bytes.len()));
    let own = encoded(codec, &order()).unwrap();
    assert_eq!(codec.decode(&own).unwrap(), (order(), own.len()));
}

#[test]
fn messages_of_python_are_read() {
    reads(&Cbor, &bytes_of(CBOR));
    reads(&MessagePack, &bytes_of(MESSAGEPACK));
    reads(&Json, JSON.as_bytes());
}
