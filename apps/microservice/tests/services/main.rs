//! Services as processes, and their ends.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod ending;
#[cfg(feature = "hotel")]
mod hotel;
mod namespaces;
mod passes;
mod transports;
