//! Stacks as text.
//!
//! `ordered,reliable,tls` is a stack, top first. Alternatives stand beside each other, `tls|checksum`; one of several layers stands in
//! brackets, `quic|(tls,ordered,reliable)`. A Chunnel may have a value: `pace=1000000`.

mod build;
mod keys;
mod layer;
mod text;

pub(crate) use keys::{Keys, Side};
pub(crate) use layer::{Layer, known};
pub(crate) use text::{Element, StackText};
