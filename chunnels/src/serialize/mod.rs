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
//! [`Postcard`] is the default. [`Bincode`] needs the feature `bincode`, which is off by default.
//!
//! # What the two ends agree on
//!
//! An [`Encoding`] has to be the same at both ends: the codec, its version and options, the offset of the key, and the name of the
//! message type. Neither codec describes its own data, so a message of another type may decode into nonsense; comparing names
//! prevents that. The name is that of the Rust type unless [`Serialize::schema`] gives another. Give one once the type changes
//! its fields, or has different names at the two ends.
//!
//! # Malformed messages
//!
//! A message that does not decode, or leaves bytes over, is dropped and counted ([`SerializeConnection::malformed`]); the
//! connection goes on. Both codecs bound their allocations for a message whose length fields lie.
//!
//! A message is malformed, too, where its values are nested deeper than 128 levels, or its sequences and maps have over 1,024 elements
//! more than the message has bytes. Each struct, tuple, enum, option, sequence and map is a level; a `Box` is none. So a message of a
//! recursive type uses a bounded stack, and a message with elements of size zero takes a bounded time. `send` fails with
//! [`Malformed`](bertha_core::ErrorKind::Malformed) for a message that is nested too deep.
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
//! [`Bincode`] unless it is given another, none for [`Postcard`]. The error of a longer message names the limit that was reached.

mod bincode;
#[cfg(any(feature = "bincode", feature = "postcard"))]
mod bounds;
mod chunnel;
mod codec;
mod connection;
mod encoding;
mod key;
mod postcard;
mod schema;
mod size;
#[cfg(test)]
mod tests;
mod with_receipts;

pub use bincode::Bincode;
pub use chunnel::Serialize;
pub use codec::Codec;
pub use connection::SerializeConnection;
pub use encoding::Encoding;
pub use key::{Anywhere, At, KeyPlace};
pub use postcard::Postcard;
#[cfg(feature = "postcard")]
pub use postcard::PostcardError;
#[cfg(feature = "rpc")]
pub(crate) use size::BufferSize;
pub use with_receipts::{SerializeWithReceipts, SerializeWithReceiptsConnection};
