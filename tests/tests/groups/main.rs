//! Connections among more than two ends, and the stores by which the ends find each other.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests panic to fail, and show what they measured"
)]

mod listing_3_5;
mod multi_endpoint;
mod rendezvous;
mod stores;
