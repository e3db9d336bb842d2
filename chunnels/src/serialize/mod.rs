//! Typed messages over a connection that carries bytes.
//!
//! [`Serialize`] encodes each message straight into a buffer of the datapath, with the headroom that the layers below
//! have reserved, and decodes messages as they arrive. The format is that of a [`Codec`]:
//!
//! ```
//! use bertha_chunnels::serialize::{Bincode, Serialize};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! struct Request { id: u64 }
//!
//! let compact = Serialize::<Request>::new();
//! let fixed_layout = Serialize::<Request, Bincode>::new().schema("request-2");
//! ```
//!
//! [`Postcard`] is the default. The others need features that are off by default:
//!
//! | codec | feature | |
//! |---|---|---|
//! | [`Postcard`] | `postcard` (on by default) | short messages, quickly; between programs in Rust |
//! | [`Bincode`] | `bincode` | fields in fixed places, for [`KeyAt`](crate::shard::KeyAt) |
//! | [`Cbor`] | `cbor` | other languages |
//! | [`MessagePack`] | `messagepack` | other languages |
//! | [`Json`] | `json` | other languages, and people who read messages |
//!
//! # What the two ends agree on
//!
//! An [`Encoding`] has to be the same at both ends: the codec, its version and options, the offset of the key, and the name of the
//! message type. [`Postcard`] and [`Bincode`] do not describe their data, so a message of another type may decode into nonsense; comparing
//! names prevents that. The name is that of the Rust type unless [`Serialize::schema`] gives another. Give one once the type changes
//! its fields, or has different names at the two ends.
//!
//! The other codecs describe their data, and the other end may have no type of Rust. Their schema is empty unless one is given, and then
//! both ends have to give it.
//!
//! # Codecs that other languages have
//!
//! A Rust type with serde's derived traits and a dictionary of Python have the same form in [`Cbor`], [`MessagePack`] and [`Json`]:
//!
//! | Rust | Python | form |
//! |---|---|---|
//! | struct | `{"id": 1}` | a map by the names of the fields, in any order; fields that the type does not have are skipped |
//! | tuple, array, `Vec` | `[1, 2]` | an array; a tuple of another length is refused |
//! | map | `{"a": 1}` | a map; in JSON all keys are strings |
//! | `Option`, `()` | `None`, or the value | null, or the value; so `Some(None)` and `Some(())` are read as `None` |
//! | enum | `"Open"`, `{"Paid": {"cents": 5}}` | the name of a variant without fields; a map of the name to the fields of another |
//! | `Vec<u8>` | `[1, 2]` | an array of numbers, also from Python's `list(data)` |
//! | `#[serde(with = "serde_bytes")] Vec<u8>` | `b"\x01\x02"` | bytes in CBOR and MessagePack, the array in JSON |
//! | 128-bit integers | `int` | an integer in JSON, and in CBOR (a big one beyond 64 bits); 16 bytes, big endian, in MessagePack |
//! | IP addresses, UUIDs and the like | see there | text in JSON, and often bytes or numbers in the other two: by serde's `is_human_readable` |
//!
//! CBOR and MessagePack read bytes where a `Vec<u8>` or an array is wanted, and an array of numbers where bytes are. So Python's `bytes`
//! reach either type; only `serde_bytes` sends `bytes` back. Python's `json` has no bytes, and takes `list(data)`.
//!
//! A field that comes twice is malformed. A key that comes twice in a map has the value that came last, as serde has it.
//!
//! [`Preencoded`] stands for `Serialize` in a program that has its messages as bytes in such a format.
//!
//! # Malformed messages
//!
//! A message that does not decode, or leaves bytes over, is dropped and counted ([`SerializeConnection::malformed`]); the
//! connection goes on. All codecs bound their allocations for a message whose length fields lie.
//!
//! A message is malformed, too, where its values are nested deeper than 128 levels, or where its sequences and maps, in [`Postcard`] and
//! [`Bincode`], have over 1,024 elements more than the message has bytes. Each struct, tuple, enum, option, sequence and map is a level; a
//! `Box` is none. So a message of a recursive type uses a bounded stack, and a message with elements of size zero takes a bounded time; in
//! the other codecs each element takes a byte. `send` fails with [`Malformed`](bertha_core::ErrorKind::Malformed) for a message that is
//! nested too deep.
//!
//! # Receipts
//!
//! On a connection on which messages are [acknowledged](bertha_core::Properties::receipts), `Serialize` would forget the receipt
//! of each message, and refuses to stand on it. [`Serialize::with_receipts`] keeps them: a received message is a
//! [`WithReceipt`](bertha_core::WithReceipt), which is done once the application says so.
//!
//! # The longest message
//!
//! A message may take as many bytes as the connection below carries and the codec's own [limit](Codec::limit) allows: 64 MiB for
//! [`Bincode`] unless it is given another, none for the others. The error of a longer message names the limit that was reached.

mod bincode;
#[cfg(any(
    feature = "bincode",
    feature = "postcard",
    feature = "cbor",
    feature = "messagepack",
    feature = "json"
))]
mod bounds;
mod cbor;
mod chunnel;
mod codec;
mod connection;
#[cfg(any(feature = "cbor", feature = "messagepack", feature = "json"))]
mod described;
mod encoding;
mod json;
mod key;
mod messagepack;
mod postcard;
mod preencoded;
mod schema;
mod size;
#[cfg(test)]
mod tests;
mod with_receipts;

pub use bincode::Bincode;
pub use cbor::Cbor;
pub use chunnel::Serialize;
pub use codec::Codec;
pub use connection::SerializeConnection;
#[cfg(any(feature = "cbor", feature = "messagepack", feature = "json"))]
pub use described::FormatError;
pub use encoding::Encoding;
pub use json::Json;
pub use key::{Anywhere, At, KeyPlace};
pub use messagepack::MessagePack;
pub use postcard::Postcard;
#[cfg(feature = "postcard")]
pub use postcard::PostcardError;
pub use preencoded::Preencoded;
#[cfg(feature = "rpc")]
pub(crate) use size::BufferSize;
pub use with_receipts::{SerializeWithReceipts, SerializeWithReceiptsConnection};
