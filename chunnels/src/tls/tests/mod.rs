//! Tests of TLS between two ends in memory.

mod authority;
mod binding;
mod choices;
mod passing;
#[cfg(feature = "quic")]
mod quic;
mod refusals;
mod scene;
mod sessions;
#[cfg(feature = "tls-streams")]
mod stream;
mod truncation;
