//! Figure 4.2: BBR by an agent, over 48 Mbit/s, 20 ms and a buffer of two bandwidth-delay products.

use super::control::Control;
use super::flows::{Course, mean, path};
use crate::Error;
use crate::harness::Effort;
use crate::report::{Budget, Report};
use bertha_plot::{Panel, Series, over_time};
use std::time::Duration;

/// Budget of the share of the link that arrives.
const USES: Budget = Budget::Between(0.9, 1.02);

/// Budget of the mean delay in a queue that holds 40 ms: probes of the rate leave some behind.
const QUEUES: Budget = Budget::Between(0.2, 10.0);

/// Budget of the number of probes of the round trip: one each ten seconds at most, and one at least.
const PROBES: Budget = Budget::Between(1.0, 4.0);

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let path = path(48.0, 20).buffered(2.0);
    let course = Course::alone(path.clone(), effort.pick(40, 25), Duration::from_millis(50), 1);
    let mut throughputs = Vec::new();
    let mut queues = Vec::new();
    for control in [Control::CcpBbr, Control::Bbr] {
        let history = course.run(control)?;
        let rates = history.throughputs(0);
        let used = history.utilisation(path.rate.mean());
        report.bounded(format!("4.2, {control}: uses"), used, "of the link", USES);
        report.bounded(format!("4.2, {control}: queues"), mean(&history.delays()), "ms", QUEUES);
        report.bounded(
            format!("4.2, {control}: probes of the round trip"),
            probes(&rates) as f64,
            "probes",
            PROBES,
        );
        let line = |values: Vec<f64>| {
            let points = values.into_iter().enumerate().map(|(at, value)| (history.at(at), value));
            Series { label: control.to_string(), points: points.collect() }
        };
        queues.push(line(history.queueing.iter().map(|delay| delay.as_secs_f64() * 1e3).collect()));
        throughputs.push(line(rates));
    }
    let above = Panel { name: "Throughput (Mbit/s)", series: throughputs, mark: Some(48.0) };
    let below = Panel { name: "Queue (ms)", series: queues, mark: None };
    let title = "BBR: 48 Mbit/s, 20 ms, two products (thesis, figure 4.2)";
    report.draw("congestion-bbr.svg", over_time(title, &[above, below]))
}

/// Returns the number of times that the throughput falls below half of its mean, after the first second.
fn probes(rates: &[f64]) -> usize {
    let low = mean(rates) / 2.0;
    rates.windows(2).skip(20).filter(|two| two[0] >= low && two[1] < low).count()
}

#[cfg(test)]
mod tests {
    use super::probes;

    #[test]
    fn a_dip_counts_once() {
        let mut rates = [40.0; 100];
        rates[50..54].fill(3.0);
        rates[80] = 1.0;
        assert_eq!(probes(&rates), 2);
    }
}
