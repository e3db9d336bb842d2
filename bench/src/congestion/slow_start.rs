//! Figure 4.3: slow start, written in four ways, over 48 Mbit/s and 100 ms.

use super::control::{Control, Start};
use super::flows::{Course, PACKET, mean, path};
use crate::Error;
use crate::report::{Budget, Report};
use bertha_ycsb::plot::{Panel, Series, over_time};
use std::time::Duration;

const WAYS: [Start; 4] = [Start::Datapath, Start::Fold, Start::Agent, Start::Rate];

const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Round trips until the path is full, more than in the datapath.
const FOLD_LAGS: Budget = Budget::AtMost(0.5);
const AGENT_LAGS: Budget = Budget::AtMost(2.0);

/// Measures.
///
/// # Errors
/// Those of the simulation and of the figure.
pub(super) fn run(report: &mut Report) -> Result<(), Error> {
    let path = path(48.0, 100).buffered(2.0);
    let product = path.product() / PACKET as f64;
    let period = ROUND_TRIP / 10;
    let course = Course::alone(path, 2, period, 1);
    let (mut series, mut in_datapath) = (Vec::new(), f64::NAN);
    for way in WAYS {
        let history = course.run(Control::SlowStart(way))?;
        // By what arrives in a round trip: a window that a rate keeps from being used says nothing.
        let throughputs = history.throughputs(0);
        let in_flight = |at: usize| {
            let arrived = &throughputs[(at + 1).saturating_sub(10)..=at];
            mean(arrived) * 1e6 / 8.0 * ROUND_TRIP.as_secs_f64() / PACKET as f64
        };
        let points: Vec<_> = (0..throughputs.len()).map(|at| (history.at(at), in_flight(at))).collect();
        // Headers below keep the last percents away.
        let full = points.iter().find(|point| point.1 >= 0.9 * product).map_or(f64::NAN, |point| point.0);
        let rounds = full / ROUND_TRIP.as_secs_f64();
        let name = format!("4.3, slow start {way}: round trips until 90 % of the path is used");
        report.figure(name, rounds, "round trips");
        let lag = |name: &str| format!("4.3, slow start {name}, behind the datapath");
        match way {
            Start::Datapath => in_datapath = rounds,
            Start::Fold => {
                report.bounded(lag("in the program"), rounds - in_datapath, "round trips", FOLD_LAGS)
            }
            Start::Agent => {
                report.bounded(lag("in the agent"), rounds - in_datapath, "round trips", AGENT_LAGS)
            }
            Start::Rate => {}
        }
        series.push(Series { label: way.to_string(), points });
    }
    let panel = Panel { name: "Packets in a round trip", series, mark: Some(product) };
    report.draw(
        "congestion-slow-start.svg",
        over_time("Slow start: 48 Mbit/s, 100 ms (thesis, figure 4.3)", &[panel]),
    )
}
