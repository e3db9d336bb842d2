//! Figure 4.3: slow start, written in five ways, over 48 Mbit/s and 100 ms.
//!
//! Listing 4.2 adds to the window the packets that a report acknowledges. They were sent with the window
//! before the last window, so each window is the sum of the two windows before it: it grows by a factor of
//! 1.6 each round trip, and needs 44 % more round trips. The algorithms for agents allow for that.

use super::control::{Control, Start};
use super::flows::{Course, PACKET, mean, path};
use crate::Error;
use crate::report::{Budget, Report};
use bertha_plot::{Panel, Series, over_time};
use std::time::Duration;

const WAYS: [Control; 5] = [
    Control::SlowStart(Start::Datapath),
    Control::SlowStart(Start::Fold),
    Control::SlowStart(Start::Agent),
    Control::CcpNewReno,
    Control::SlowStart(Start::Rate),
];

const ROUND_TRIP: Duration = Duration::from_millis(100);

/// Budgets in round trips until the path is full, more than in the datapath: a fold acts on each acknowledgement as the
/// datapath does, an agent acts a round trip later, and Listing 4.2 needs the 44 % of seven.
const FOLD_LAGS: Budget = Budget::Between(-0.5, 0.5);
const AGENT_LAGS: Budget = Budget::Between(0.5, 2.0);
const LISTING_LAGS: Budget = Budget::Between(2.0, 4.5);

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(super) fn run(report: &mut Report) -> Result<(), Error> {
    let path = path(48.0, 100).buffered(2.0);
    let product = path.product() / PACKET as f64;
    let period = ROUND_TRIP / 10;
    let course = Course::alone(path, 2, period, 1);
    let mut series = Vec::new();
    let mut in_datapath = f64::NAN;
    for way in WAYS {
        let history = course.run(way)?;
        // The points show what arrives in a round trip: a window that a rate keeps from being used says
        // nothing.
        let throughputs = history.throughputs(0);
        let in_flight = |at: usize| {
            let arrived = &throughputs[(at + 1).saturating_sub(10)..=at];
            mean(arrived) * 1e6 / 8.0 * ROUND_TRIP.as_secs_f64() / PACKET as f64
        };
        let points: Vec<_> = (0..throughputs.len()).map(|at| (history.at(at), in_flight(at))).collect();
        // Headers below use up the last percents.
        let full = points.iter().find(|point| point.1 >= 0.9 * product).map_or(f64::NAN, |point| point.0);
        let rounds = full / ROUND_TRIP.as_secs_f64();
        let name = format!("4.3, slow start {way}: round trips until 90 % of the path is used");
        report.figure(name, rounds, "round trips");
        let lag = |name: &str| format!("4.3, slow start {name}, behind the datapath");
        match way {
            Control::SlowStart(Start::Datapath) => in_datapath = rounds,
            Control::SlowStart(Start::Fold) => {
                report.bounded(lag("in the program"), rounds - in_datapath, "round trips", FOLD_LAGS)
            }
            Control::SlowStart(Start::Agent) => {
                report.bounded(lag("by listing 4.2"), rounds - in_datapath, "round trips", LISTING_LAGS)
            }
            Control::CcpNewReno => {
                report.bounded(lag("in the agent"), rounds - in_datapath, "round trips", AGENT_LAGS)
            }
            _ => {}
        }
        series.push(Series { label: way.to_string(), points });
    }
    let panel = Panel { name: "Packets in a round trip", series, mark: Some(product) };
    report.draw(
        "congestion-slow-start.svg",
        over_time("Slow start: 48 Mbit/s, 100 ms (thesis, figure 4.3)", &[panel]),
    )
}
