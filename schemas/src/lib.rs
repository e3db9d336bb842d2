//! The messages that methods of services take and return, known at run time: a [`Schema`] is checked, has an exact hash, and becomes a [`Plan`] by
//! which one interpreter moves messages between memory and protobuf. Nothing is compiled, and nothing that a stranger submits is code.
//!
//! ```text
//!  descriptors ──▶ Schema ──▶ hash, first difference
//!                     │
//!                     ▼
//!                   Plan ──▶ layout in memory
//!                     │
//!       Memory ──▶ encode ──▶ protobuf ──▶ decode ──▶ Room
//!       Memory ───────────────── copy ──────────────▶ Room
//! ```
//!
//! # Schemas
//!
//! A schema comes as the descriptor set (`FileDescriptorSet`) that compilers of protobuf write. It has to be of proto3, complete and within
//! the bounds that [`Schema::read`] states. Of its types, those count that a method reaches.
//!
//! Its canonical form is a sorted text of a line for each method, message, field and value of an enumeration. Names of types have a dot in
//! front. Choices are laid out in the order of their first fields, whatever the order of a descriptor. Two schemas are equal if and only if
//! these texts are; the [hash](Schema::digest) is the SHA-256 of the text, and a [`Difference`] is the first line that one of two
//! schemas lacks.
//!
//! # Memory
//!
//! A message lies in memory as a structure of C would, little-endian and aligned to eight bytes: words with a bit for each `optional` field,
//! then the number of the present field for each `oneof`, then the fields in the order of their numbers. Numbers have their natural size. A
//! field of text, of bytes, or repeated is a reference of sixteen bytes to elements in a row: address, number of elements, capacity. A field
//! of a message is the address of its structure, or zero without it. Repeated messages are structures in a row. A map is repeated entries,
//! of which the last with a key counts.
//!
//! Addresses are numbers whose meaning belongs to [`Memory`] and [`Room`]. The memory to be encoded may be written by another process at
//! any time: each byte is read once, into private memory, and what is wrong in it costs no more than a [`Fault`].
//!
//! # Protobuf
//!
//! Encoding and decoding follow the [encoding of protobuf](https://protobuf.dev/programming-guides/encoding/): fields that are unknown are
//! skipped and dropped, repeated numbers arrive packed or one by one, and of a field that comes twice the last counts, or both are merged.
//!
//! # Native frames
//!
//! Two ends with equal schemas need no encoding: [`Plan::copy`] copies a message from memory to memory, and checks what the copy's reader
//! relies on. A copy in [`PrivateMemory`] can be sent as it lies there, since the addresses in it count from its beginning. Its receiver
//! reads it as a [`Frame`], which is memory of a stranger again.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

#[cfg(test)]
mod described;
mod fields;
mod limits;
mod memory;
mod native;
mod partly;
mod path;
mod plan;
mod private;
mod protobuf;
mod reference;
mod schema;
mod shape;
#[cfg(feature = "walks")]
mod walks;

pub use fields::Fields;
pub use limits::Limits;
pub use memory::{Memory, NoRoom, Outside, Room};
pub use native::Frame;
pub use partly::Partly;
pub use path::{Path, Value};
pub use plan::{MessageId, Plan, Told};
pub use private::PrivateMemory;
pub use protobuf::{Encoded, Fault};
pub use schema::{Difference, Digest, Method, Schema, Unsuitable};
pub use shape::{Misfit, Part, Shape, Type};
#[cfg(feature = "walks")]
pub use walks::walks;
