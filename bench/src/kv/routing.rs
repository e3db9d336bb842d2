//! Requests of a store of two shards, routed by the server, by the client, or by the server's kernel (thesis,
//! Figure 3.9).

use super::{Sample, Setup, bertha, figures};
use crate::Error;
use crate::harness::{Effort, alternate, median};
use crate::report::{Budget, Report};
use bertha_chunnels::shard::RoutedBy;
use bertha_plot::{Line, Point, Scale, latency_by_load};

/// Numbers of requests in flight to each shard, from a light load to one that keeps both cores busy.
const IN_FLIGHT: [usize; 4] = [8, 32, 128, 512];

/// The lightest and the heaviest load, at which ratios are bounded.
const LIGHT: usize = IN_FLIGHT[0];
const HEAVY: usize = IN_FLIGHT[IN_FLIGHT.len() - 1];

/// Budgets of throughput, routed by the kernel to routed by the server: under a light load a hop less wakes a thread less, and
/// under a heavy load the server's router is the limit.
const TO_SERVER: [(usize, Budget); 2] =
    [(LIGHT, Budget::Between(1.05, 2.0)), (HEAVY, Budget::Between(1.5, 4.0))];

/// Budgets of throughput, routed by the kernel to routed by the client: neither has a router of its own.
const TO_CLIENT: [(usize, Budget); 2] =
    [(LIGHT, Budget::Between(0.9, 1.3)), (HEAVY, Budget::Between(0.9, 1.15))];

/// Measures the rows, and draws them.
///
/// # Errors
/// The errors of the stores, and of the drawing.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let mut lines = [RoutedBy::Server, RoutedBy::Client, RoutedBy::Kernel]
        .map(|place| Line { label: format!("routed by {place}"), points: Vec::new() });
    for in_flight in IN_FLIGHT {
        let requests = effort.pick(400_000, 100_000);
        let setup = Setup { shards: 2, in_flight, requests, ..Setup::default() };
        for (other, budgets) in [(RoutedBy::Server, TO_SERVER), (RoutedBy::Client, TO_CLIENT)] {
            let name = format!("2 shards, {in_flight} in flight, routed by the kernel to {other}");
            let by = |place| bertha::routed(&setup, place);
            let paired = alternate(effort.pairs(), || by(other), || by(RoutedBy::Kernel));
            let Some(paired) = report.unless_impossible(&name, paired)? else { continue };
            let figures_of = |place: RoutedBy| format!("2 shards, {in_flight} in flight, routed by {place}");
            figures(&figures_of(other), &paired.a(), report);
            lines[usize::from(other == RoutedBy::Client)].points.extend(point(&paired.a()));
            if other == RoutedBy::Client {
                figures(&figures_of(RoutedBy::Kernel), &paired.b(), report);
                lines[2].points.extend(point(&paired.b()));
            }
            let throughput = |it: &Sample| it.requests_per_second;
            let budget = budgets.into_iter().find_map(|(load, budget)| (load == in_flight).then_some(budget));
            report.compare(&format!("{name}, throughput"), &paired, throughput, budget);
            report.compare(&format!("{name}, p50"), &paired, |it| it.latency.p50_us, None);
            report.compare(&format!("{name}, p99"), &paired, |it| it.latency.p99_us, None);
        }
    }
    if lines.iter().any(|line| line.points.is_empty()) {
        return Ok(());
    }
    report.draw("kv-routing.svg", latency_by_load(&lines, Scale::Logarithmic))
}

/// Returns the place of some runs in the drawing.
fn point(samples: &[Sample]) -> Option<Point> {
    let of = |number: fn(&Sample) -> f64| median(&samples.iter().map(number).collect::<Vec<_>>());
    let [load, p50, p95] =
        [of(|it| it.requests_per_second)?, of(|it| it.latency.p50_us)?, of(|it| it.latency.p95_us)?];
    Some(Point { load, p50, p95 })
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
