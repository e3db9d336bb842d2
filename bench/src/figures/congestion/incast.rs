//! Figure 4.9: fifty flows that begin at once, over round trips of 20 µs, by the time between reports to an agent whose answers
//! take 20 µs more.

use super::control::Control;
use super::flows::{connect, lay, mean, simulation};
use crate::harness::Effort;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_chunnels::Reliable;
use bertha_core::{Buf, Connection, Runtime};
use bertha_datapath_sim::{Network, Path, Rate};
use bertha_plot::{Panel, Series, over};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

const FLOWS: usize = 50;

/// Size of a packet, and of a message that fills it, in bytes. The smallest window is two packets: with larger ones, the
/// first windows of fifty flows would fill the path of 40 Gbit/s by themselves, whatever the agent did.
const PACKET: usize = 676;
const MESSAGE: usize = 661;

/// Size of the switch's buffer, in packets: room for what flows of 100 packets send, so that rows differ by the time to
/// fill the path, and not by losses.
const BUFFER: u64 = 5_000;

/// Control in the datapath's place: a report for each acknowledgement, or after a microsecond, whose answer takes effect at the next one.
const DATAPATH: Control = Control::Reporting { period: Duration::ZERO, staleness: Duration::ZERO };

/// The time that an answer takes: the thesis's, which bounds what figure 4.7 measures.
const STALENESS: Duration = Duration::from_micros(20);

/// The shortest and the longest time between reports, and those between.
const PERIODS: [Duration; 4] = [
    Duration::from_micros(10),
    Duration::from_micros(100),
    Duration::from_micros(500),
    Duration::from_micros(1_000),
];

/// Returns the bounds of the ratio for one case: within 15 %, but for flows of 100 packets over 40 Gbit/s, which rare
/// reports keep from filling the path. Shorter flows are over by then, and longer ones make up for it.
fn budget(gigabits: u64, packets: u64, period: Duration) -> Option<Budget> {
    match (gigabits, packets, period.as_micros()) {
        (40, 100, 1_000) => Some(Budget::Between(1.5, 4.0)),
        (40, 100, 500) => None,
        _ => Some(Budget::Between(0.85, 1.15)),
    }
}

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let mut panels = Vec::new();
    for (gigabits, name) in [(10, "Ratio, 10 Gbit/s"), (40, "Ratio, 40 Gbit/s")] {
        let mut series = Vec::new();
        for packets in effort.pick(&[10, 100, 1_000][..], &[10, 100]) {
            // Fifty simulations as in the thesis, and five of the longest flows, whose times differ by less.
            let seeds = if *packets < 1_000 { effort.pick(50, 5) } else { 5 };
            let tail = |control: Control| -> Result<f64, Error> {
                let ends: Result<Vec<_>, _> =
                    (1..=seeds).map(|seed| end(control, gigabits, *packets, seed)).collect();
                Ok(mean(&ends?))
            };
            let mut points = Vec::new();
            let name = format!("4.9, {gigabits} Gbit/s, {packets} packets of each of {FLOWS}");
            let datapath = tail(DATAPATH)?;
            report.figure(format!("{name}: the last ends by an agent without delay"), datapath * 1e3, "ms");
            for period in PERIODS {
                let ratio = tail(Control::Reporting { period, staleness: STALENESS })? / datapath;
                points.push((period.as_secs_f64() * 1e6, ratio));
                let name = format!("{name}: by reports each {period:?}, 20 µs late");
                match budget(gigabits, *packets, period) {
                    Some(budget) => report.bounded(name, ratio, "x", budget),
                    None => report.figure(name, ratio, "x"),
                }
            }
            series.push(Series { label: format!("{packets} packets of each flow"), points });
        }
        panels.push(Panel { name, series, mark: Some(1.0) });
    }
    report.draw(
        "congestion-incast.svg",
        over(
            "Time between reports (µs)",
            "Time until the last of fifty flows ends, to that by an agent without delay (thesis, figure 4.9)",
            &panels,
        ),
    )
}

/// Returns the time until the last flow has arrived, in seconds.
fn end(control: Control, gigabits: u64, packets: u64, seed: u64) -> Result<f64, Error> {
    let rate = Rate::fixed(gigabits * 125_000_000);
    let path = Path { buffer: BUFFER * PACKET as u64, ..Path::new(rate, Duration::from_micros(10)) };
    let mut sim = simulation(seed, Duration::from_secs(600));
    let network = sim.network().clone();
    let started = control.start()?;
    sim.run(incast(network, started.stack(), &path, packets, seed))
        .map_err(Error::while_doing(ErrorKind::Bertha, format!("an incast of {control}")))
}

async fn incast(
    network: Network,
    stack: Reliable,
    path: &Path,
    packets: u64,
    seed: u64,
) -> Result<f64, bertha_core::Error> {
    let runtime = network.runtime();
    lay(&network, path, &[Duration::ZERO; FLOWS], seed);
    let ends = connect(&network, &stack.packet(PACKET), FLOWS).await?;
    let mut rng = StdRng::seed_from_u64(seed);
    // The flows begin within the time of 12,500 bytes on the wire, as in the thesis.
    let jitter = (12_500.0 / path.rate.mean() * 1e9) as u64;
    let begin = runtime.elapsed();
    let mut sending = Vec::new();
    let mut receiving = Vec::new();
    for ends in ends {
        let start = runtime.sleep(Duration::from_nanos(rng.random_range(0..jitter)));
        let client = ends.client;
        sending.push(runtime.spawn(async move {
            start.await;
            for _ in 0..packets {
                let Ok(message) = Buf::new(MESSAGE, 0) else { return };
                if client.send(message).await.is_err() {
                    return;
                }
            }
            // The connection stays open until everything has arrived.
            std::future::pending::<()>().await;
        }));
        receiving.push(async move {
            let mut burst = Vec::<Buf>::new();
            let mut left = packets as usize;
            while left > 0 {
                left -= ends.server.recv_batch(&mut burst, left).await?;
                burst.clear();
            }
            Ok::<_, bertha_core::Error>(())
        });
    }
    futures_util::future::try_join_all(receiving).await?;
    Ok((runtime.elapsed() - begin).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_answers_and_rare_reports_both_delay_the_end() {
        let micros = Duration::from_micros;
        let end = |period, staleness| {
            let control = Control::Reporting { period: micros(period), staleness: micros(staleness) };
            end(control, 40, 100, 1).unwrap()
        };
        let datapath = end(0, 0);
        let ratios =
            [(10, 20), (0, 500), (1_000, 20)].map(|(period, staleness)| end(period, staleness) / datapath);
        assert!(ratios[0] < 1.15 && ratios[1] > 1.2 && ratios[2] > 1.4, "{ratios:?}");
        assert_eq!(end(10, 20), end(10, 20));
    }
}
