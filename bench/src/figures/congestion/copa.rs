//! Figure 4.11, for the datapath that runs in virtual time: Copa and Vegas by an agent, over 12 Mbit/s and 20
//! ms. Each flow is alone, so that Copa has nothing to compete with. The table of section 4.7.2 has Copa over 25 ms.

use super::control::Control;
use super::flows::{Course, PACKET, mean, path};
use crate::Error;
use crate::report::{Budget, Report};
use bertha_plot::{Panel, Series, over_time};
use std::time::Duration;

/// Budget of the share of the link that arrives.
const USES: Budget = Budget::Between(0.9, 1.02);

/// Budget of the mean delay in a queue that holds 20 ms: both algorithms keep some packets there.
const QUEUES: Budget = Budget::Between(0.5, 10.0);

/// Budgets of the table of section 4.7.2: at least the throughput of Copa by CCP there in Mbit/s, and at most its mean delay
/// in the queue in milliseconds.
const TABLE_RATE: Budget = Budget::Between(8.2, 12.1);
const TABLE_QUEUE: Budget = Budget::Between(0.5, 11.0);

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(super) fn run(report: &mut Report) -> Result<(), Error> {
    let course = Course::alone(path(12.0, 20), 10, Duration::from_millis(10), 1);
    let mut series = Vec::new();
    for control in [Control::CcpCopa, Control::CcpVegas] {
        let history = course.run(control)?;
        let used = history.utilisation(course.path.rate.mean());
        report.bounded(format!("4.11, {control}: uses"), used, "of the link", USES);
        report.bounded(format!("4.11, {control}: queues"), mean(&history.delays()), "ms", QUEUES);
        let samples = history.flows[0].iter().enumerate();
        let points = samples.map(|(at, sample)| (history.at(at), sample.window)).collect();
        series.push(Series { label: control.to_string(), points });
    }
    let table = Course::alone(path(12.0, 25), 30, Duration::from_millis(10), 1).run(Control::CcpCopa)?;
    let megabits = table.rates().iter().sum::<f64>() * 8e-6;
    report.bounded("4.7.2, Copa by CCP over 25 ms: throughput", megabits, "Mbit/s", TABLE_RATE);
    report.bounded("4.7.2, Copa by CCP over 25 ms: queue", mean(&table.delays()), "ms", TABLE_QUEUE);
    let mark = Some(course.path.product() / PACKET as f64);
    let panel = Panel { name: "Window (packets)", series, mark };
    let title = "Copa and Vegas by CCP: 12 Mbit/s, 20 ms (thesis, figure 4.11)";
    report.draw("congestion-copa.svg", over_time(title, &[panel]))
}
