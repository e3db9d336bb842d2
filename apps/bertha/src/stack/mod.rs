//! Stacks as text.
//!
//! The text `ordered,reliable,tls` is a stack, top first. Alternatives are separated by a bar,
//! `tls|checksum`; an alternative of several layers is in brackets, `quic|(tls,ordered,reliable)`. A Chunnel
//! may have a value: `pace=1000000`.

mod build;
mod keys;
mod layer;
mod text;

pub(crate) use keys::{Keys, Side};
pub(crate) use layer::{Layer, known};
pub(crate) use text::{Element, StackText};
