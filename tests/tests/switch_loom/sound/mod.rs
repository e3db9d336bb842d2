//! The seats as they are, over loom's primitives behind the names that they use.

mod sync;

#[path = "../../../../negotiation/src/switch/seats.rs"]
pub(crate) mod seats;
