//! The Chunnel that does nothing.
//!
//! It fills the place of a Chunnel that is optional, as in `select!(Compress::new(), Nothing)`, and shows the cost of a
//! layer: no instruction and no allocation per message. It needs no counterpart at the other end.

mod chunnel;
mod connection;
#[cfg(test)]
mod tests;

pub use chunnel::Nothing;
pub use connection::NothingConnection;
