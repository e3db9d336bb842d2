//! Typed messages over a connection that carries bytes.
//!
//! [`Serialize`] encodes each message straight into a buffer of the datapath, with the headroom that the layers below
//! have reserved, and decodes what arrives. How is up to a [`Codec`]:
//!
//! ```
//! use bertha_chunnels::serialize::{Postcard, Serialize};
//! # #[derive(serde::Serialize, serde::Deserialize)]
//! struct Request { id: u64 }
//!
//! let fixed_layout = Serialize::<Request>::new();
//! let compact = Serialize::<Request, Postcard>::new().schema("request-2");
//! ```
//!
//! # What the two ends agree on
//!
//! Codec, its version and options, where keys stand, and the name of the message type: an [`Encoding`], which has to be the same at
//! both ends. Neither codec describes its own data, so a message of another type may well decode into nonsense; that
//! is why the name counts. It is that of the Rust type unless [`Serialize::schema`] gives another, which it should
//! once the type changes its fields, or has different names at the two ends.
//!
//! # Malformed messages
//!
//! What does not decode, or has bytes left over, is dropped and counted ([`SerializeConnection::malformed`]); the
//! connection goes on. Both codecs bound what they allocate for a message whose length fields lie.

mod bincode;
mod burst;
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

pub use bincode::Bincode;
pub use chunnel::Serialize;
pub use codec::Codec;
pub use connection::SerializeConnection;
pub use encoding::Encoding;
pub use key::{Anywhere, At, KeyPlace};
pub use postcard::Postcard;
