//! Topics of messaging services, each against a server of it, and in memory.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests panic to fail, and show what they measured"
)]

#[cfg(any(feature = "kafka", feature = "nats"))]
mod away;
#[cfg(feature = "azure-queue")]
mod azure;
#[cfg(any(feature = "kafka", feature = "nats"))]
mod broker;
mod catches;
#[cfg(feature = "nats")]
mod chaos;
#[cfg(any(feature = "nats", feature = "redis-streams"))]
mod endless;
#[cfg(feature = "google-pubsub")]
mod google;
#[cfg(feature = "kafka")]
mod kafka;
mod memory;
#[cfg(feature = "nats")]
mod nats;
#[cfg(feature = "redis-streams")]
mod redis;
#[cfg(feature = "kafka")]
mod requests;
mod server;
#[cfg(feature = "sqs")]
mod sqs;
