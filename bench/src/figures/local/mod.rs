//! The program `bertha-bench local`: services of a machine.
//!
//! | part | its rows |
//! |---|---|
//! | [`figure`] | Figure 3.5 of the thesis: latencies of 20,000 requests over 200 connections, by the transports of `bertha-microservice`, by tonic and by iceoryx2 |
//! | [`apart`] | the two services of that figure, each a process in a network namespace, and side-cars |
//! | [`round_trip`] | round trips of 64 bytes through shared memory against a ring by hand and kernel UDP |
//! | [`flow`] | 64-byte messages per second, against the same ring |
//! | [`calls`] | calls by `Rpc` over shared memory against tonic |
//! | [`death`] | the time until the death of a process is heard |

mod apart;
mod calls;
mod death;
mod figure;
mod flow;
#[cfg(feature = "iceoryx")]
mod iceoryx;
mod ring;
mod round_trip;

use crate::Error;
use crate::ErrorKind;
use crate::harness::Effort;
use crate::report::Report;

/// Measures the rows.
///
/// # Errors
/// Errors of the connections.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("local");
    figure::measure(&mut report, effort)?;
    round_trip::measure(&mut report, effort)?;
    flow::measure(&mut report, effort)?;
    calls::measure(&mut report, effort)?;
    death::measure(&mut report, effort)?;
    Ok(report)
}

/// The processes of the two services, which are not for users.
pub(crate) use apart::{AskOptions, ServeOptions, ask, serve};
/// The process that [`death`] ends, which is not for users.
pub(crate) use death::mortal;

/// Returns a Bertha connection's error, for `map_err`.
fn failed(error: bertha_core::Error) -> Error {
    Error::new(ErrorKind::Bertha, "services of one machine").because(error)
}
