//! The program `bertha-bench pubsub`: messages through topics of messaging services, against equal messages
//! by each service's own client library.
//!
//! Every service that `scripts/services` has started is measured. A row names the service's own server or an
//! emulator. An emulator's times say nothing about the service that it imitates; the ratio and the number of
//! calls do.
//!
//! | part | figure of the thesis |
//! |---|---|
//! | [`latency`] | 3.6: latencies of each service, with each order |
//! | [`switch`] | 3.7: latency over time, as a second receiver moves the order from the first one to the service |
//! | [`nagling`] | 3.8: calls and latencies without batches, with `Nagle`, and of an application that makes batches itself |
//! | [`throughput`] | none |

mod by_hand;
mod counted;
mod exchange;
mod latency;
mod nagling;
mod ours;
mod place;
mod slowed;
mod switch;
mod throughput;

use crate::harness::{self, Effort};
use crate::report::Report;
use crate::{Error, ErrorKind};
use place::Places;

/// Measures the rows.
///
/// # Errors
/// Errors of the services and their clients.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let places = Places::from_env();
    let mut report = Report::new("pubsub");
    let runtime = harness::runtime()?;
    latency::measure(&mut report, &runtime, &places, effort)?;
    nagling::measure(&mut report, &runtime, &places, effort)?;
    throughput::measure(&mut report, &runtime, &places, effort)?;
    switch::measure(&mut report, &runtime, &places, effort)?;
    Ok(report)
}

/// Returns a Bertha connection's error, for `map_err`.
fn failed(error: bertha_core::Error) -> Error {
    Error::new(ErrorKind::Bertha, "a topic").because(error)
}

/// Returns the error of a client that is used by hand, for `map_err`.
fn by_hand_failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::new(ErrorKind::Socket, "a messaging service, by hand").because(error)
}

/// Returns a name that no other run has.
fn unused(what: &str) -> String {
    format!("bench-{what}-{:016x}", rand::random::<u64>())
}
