//! Stacks that encrypt, in the simulator: `Seal` with a shared key, and `Quic` and `Tls` with certificates.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod altered;
mod quic;
mod scene;
mod seal;
mod tls;
mod transcript;
