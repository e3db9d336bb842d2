//! Stacks that encrypt, in the simulator: `Seal` with a shared key, and `Quic` with certificates.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod quic;
mod scene;
mod seal;
