//! Requests of a store of two shards, routed by the server, by the client, or by the server's kernel (thesis,
//! Figure 3.9).

use super::{Sample, Setup, bertha, figures};
use crate::Error;
use crate::harness::{Effort, alternate};
use crate::report::Report;
use bertha_chunnels::shard::RoutedBy;

/// Numbers of requests in flight to each shard: a light load, and a load that keeps both cores busy.
const IN_FLIGHT: [usize; 2] = [8, 512];

/// Measures the rows.
///
/// # Errors
/// The errors of the stores.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    for in_flight in IN_FLIGHT {
        let requests = effort.pick(400_000, 100_000);
        let setup = Setup { shards: 2, in_flight, requests, ..Setup::default() };
        for other in [RoutedBy::Server, RoutedBy::Client] {
            let name = format!("2 shards, {in_flight} in flight, routed by the kernel to {other}");
            let by = |place| bertha::routed(&setup, place);
            let paired = alternate(effort.pairs(), || by(other), || by(RoutedBy::Kernel));
            let Some(paired) = report.unless_impossible(&name, paired)? else { continue };
            let figures_of = |place: RoutedBy| format!("2 shards, {in_flight} in flight, routed by {place}");
            figures(&figures_of(other), &paired.a(), report);
            if other == RoutedBy::Client {
                figures(&figures_of(RoutedBy::Kernel), &paired.b(), report);
            }
            let throughput = |it: &Sample| it.requests_per_second;
            report.compare(&format!("{name}, throughput"), &paired, throughput, None);
            report.compare(&format!("{name}, p50"), &paired, |it| it.latency.p50_us, None);
            report.compare(&format!("{name}, p99"), &paired, |it| it.latency.p99_us, None);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::kv::Workload;

    #[test]
    fn every_place_answers() {
        let workload = Workload { records: 50, value_bytes: 10, reads: 0.5 };
        let setup = Setup { shards: 2, in_flight: 8, requests: 501, workload, ..Setup::default() };
        for place in [RoutedBy::Server, RoutedBy::Client, RoutedBy::Kernel] {
            match bertha::routed(&setup, place) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Core, "{error}"),
                Ok(sample) => {
                    assert!(sample.latency.p99_us > 0.0 && sample.resent == 0, "{place}: {sample:?}")
                }
            }
        }
    }
}
