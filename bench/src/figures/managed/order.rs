//! The order of the ways by their medians and 99th percentiles, as in Table 3.2: a socket alone, the daemons, the daemons over gRPC, tonic,
//! and tonic behind Envoys.

use super::by_hand::QUESTION;
use super::chain::Way;
use super::rows::{ENVOYS, GRPC, NATIVE, pair};
use crate::Error;
use crate::harness::Effort;
use crate::report::{Budget, Report};
use crate::rpc::Load;

/// Budget of the median, and of the 99th percentile, of a way to that of the way before it.
const SLOWER: Budget = Budget::AtLeast(1.0);

/// The ways in the order of the seed. An engine that does nothing is within the noise of none, so a single way stands for both.
const ORDER: [Way; 5] = [Way::ByHand, NATIVE, GRPC, Way::Tonic, ENVOYS];

/// Measures each way against the one before it.
///
/// # Errors
/// Errors of the processes.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let load = Load { bytes: QUESTION, in_flight: 1, calls: effort.pick(10_000, 1_000) };
    for (place, two) in ORDER.windows(2).enumerate() {
        let (a, b) = (two[0], two[1]);
        pair(report, (a, b), load, effort.pick(8, 2), |report, paired| {
            let name =
                format!("order of the seed, {}. {} to {}. {}", place + 2, b.name(), place + 1, a.name());
            if a == Way::ByHand {
                report.median(format!("{name}: {}, p50", a.name()), &paired.a(), |it| it.p50_us, "us");
                report.median(format!("{name}: {}, p99", a.name()), &paired.a(), |it| it.p99_us, "us");
            }
            report.compare(&format!("{name}, p50"), paired, |it| it.p50_us, Some(SLOWER));
            report.compare(&format!("{name}, p99"), paired, |it| it.p99_us, Some(SLOWER));
        })?;
    }
    Ok(())
}
