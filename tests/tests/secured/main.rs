//! Stacks that encrypt, in the simulator: `Seal` with a shared key, and `Quic` with certificates.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod altered;
mod quic;
mod scene;
mod seal;
mod transcript;
