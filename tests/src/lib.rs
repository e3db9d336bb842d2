//! The conformance suite of messaging services, the targets of the fuzzers, and the helpers of tests.
//!
//! The directory `tests/` holds the tests of whole stacks. `bertha-conformance` has the other suites.

// Checks panic to fail, as the tests that call them do.
#![allow(clippy::unwrap_used)]

pub mod conformance;
mod damaging_proxy;
pub mod fuzz_targets;
pub mod metrics;
mod seeds;
#[cfg(any(feature = "sqs", feature = "azure-queue", feature = "google-pubsub"))]
pub mod servers;
mod services;
mod throttling_proxy;

pub use damaging_proxy::DamagingProxy;
pub use seeds::{seeds, with_seeds};
pub use services::{service, skip, skip_anywhere};
pub use throttling_proxy::ThrottlingProxy;
