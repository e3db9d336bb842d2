//! Calls per second with one and two threads in each application, daemon and Envoy: Figures 3.5 and A.2.

use super::chain::{Chain, Way};
use super::rows::{ENVOYS, GRPC, NATIVE};
use crate::Error;
use crate::harness::{Effort, alternate};
use crate::report::Report;
use crate::rpc::Load;

/// Number of calls in flight of each thread.
const IN_FLIGHT: usize = 32;

/// Measures two threads against one, on all cores.
///
/// # Errors
/// Errors of the processes.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let load = Load { bytes: 32, in_flight: IN_FLIGHT, calls: effort.pick(50_000, 5_000) };
    for way in [NATIVE, GRPC, Way::Tonic, ENVOYS] {
        let name = format!("32 bytes, all cores, {}", way.name());
        if let Some(reason) = way.lacking() {
            report.skip(&name, reason);
            continue;
        }
        let (one, two) = (Chain::start(way)?, Chain::of_threads(way, 2)?);
        let paired = alternate(effort.pick(6, 2), || one.ask_on(1, load), || two.ask_on(2, load))?;
        report.median(format!("{name}: 1 thread"), &paired.a(), |it| *it, "calls/s");
        report.median(format!("{name}: 2 threads"), &paired.b(), |it| *it, "calls/s");
        report.compare(&format!("{name}, 2 threads to 1"), &paired, |it| *it, None);
    }
    Ok(())
}
