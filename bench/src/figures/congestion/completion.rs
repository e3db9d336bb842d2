//! Figure 4.6: the times that flows of many sizes take, over 192 Mbit/s and 100 ms at half load.

use super::control::Control;
use super::flows::{Ends, MESSAGE, PACKET, connect, lay, path, simulation};
use crate::harness::{Effort, percentile};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_chunnels::Reliable;
use bertha_core::{Buf, Connection, Runtime};
use bertha_datapath_sim::{Network, Path};
use bertha_plot::{Spread, spreads};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Number of connections, on which each flow uses one.
const CONNECTIONS: usize = 50;

/// Share of the link that flows need.
const LOAD: f64 = 0.5;

/// Longest time after the last arrival until all are complete.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// The classes of flows by their sizes in bytes, with the bounds of the agent's median time to the datapath's, around the
/// thesis's 1.00, 0.93 and 1.22.
const CLASSES: [(&str, std::ops::RangeInclusive<u64>, Budget); 3] = [
    ("up to 10 KB", 0..=10_000, Budget::Between(0.98, 1.02)),
    ("up to 1 MB", 10_001..=1_000_000, Budget::Between(0.85, 1.0)),
    ("larger", 1_000_001..=u64::MAX, Budget::Between(1.1, 1.35)),
];

/// Number of flows of a class from which its median is bounded: that of a few flows is of their chances.
const ENOUGH: usize = 50;

/// Sizes in bytes, and the share of flows that are not larger.
pub(super) type Sizes = [(f64, f64)];

/// Sizes of figure 4.6: 97.6 % are 10 KB or shorter, and a thousandth is larger than a megabyte, as in the thesis.
const SIZES: &Sizes =
    &[(100.0, 0.0), (1_000.0, 0.45), (4_000.0, 0.85), (10_000.0, 0.976), (1e6, 0.999), (30e6, 1.0)];

/// One flow.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) at: Duration,
    pub(super) bytes: u64,
    pub(super) connection: usize,
}

/// A size and a time.
#[derive(Debug, Clone, Copy)]
struct Completion {
    bytes: u64,
    took: Duration,
}

/// Returns Poisson arrivals of these sizes that need this number of bytes per second.
pub(super) fn arrivals(sizes: &Sizes, count: usize, rate: f64, seed: u64) -> Vec<Arrival> {
    let mut rng = StdRng::seed_from_u64(seed);
    let sizes: Vec<f64> = (0..count).map(|_| size(sizes, rng.random())).collect();
    // The load is spread evenly, whatever large flows chance drew.
    let pause = sizes.iter().sum::<f64>() / count as f64 / rate;
    let mut at = 0.0;
    let arrival = |bytes: f64| {
        at -= pause * (1.0 - rng.random::<f64>()).ln();
        let connection = rng.random_range(0..CONNECTIONS);
        Arrival { at: Duration::from_secs_f64(at), bytes: bytes as u64, connection }
    };
    sizes.into_iter().map(arrival).collect()
}

/// Returns the size at this quantile, by equal ratios between the sizes of the table.
fn size(sizes: &Sizes, quantile: f64) -> f64 {
    let segment = sizes.windows(2).find(|two| quantile <= two[1].1).unwrap_or(&sizes[sizes.len() - 2..]);
    let [(low, from), (high, to)] = [segment[0], segment[1]];
    low * (high / low).powf((quantile - from) / (to - from))
}

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation and of the figure.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let path = path(192.0, 100);
    let arrivals = arrivals(SIZES, effort.pick(100_000, 20_000), LOAD * path.rate.mean(), 1);
    let controls = [Control::NewReno, Control::CcpNewReno];
    let complete = |control: Control| {
        let last = arrivals.last().map_or(Duration::ZERO, |last| last.at);
        let mut sim = simulation(1, last + TIME_LIMIT);
        let network = sim.network().clone();
        let started = control.start()?;
        sim.run(completions(network, started.stack(), &path, &arrivals))
            .map_err(Error::while_doing(ErrorKind::Bertha, format!("flows of {control}")))
    };
    let [datapath, agent] = [complete(controls[0])?, complete(controls[1])?];
    let mut boxes = Vec::new();
    for (class, sizes, budget) in CLASSES {
        let times = |completions: &[Completion]| {
            let of_class = completions.iter().filter(|it| sizes.contains(&it.bytes));
            of_class.map(|it| it.took.as_secs_f64() * 1e3).collect::<Vec<_>>()
        };
        let times = [times(&datapath), times(&agent)];
        for (control, times) in controls.iter().zip(&times) {
            let value = percentile(times, 0.5).unwrap_or(f64::NAN);
            report.figure(format!("4.6, flows {class}: {control}, median of {}", times.len()), value, "ms");
            let micros: Vec<_> = times.iter().map(|time| time * 1e3).collect();
            boxes.extend(Spread::of(&format!("{class}: {control}"), &micros));
        }
        for (label, part) in [("median", 0.5), ("75th percentile", 0.75), ("95th percentile", 0.95)] {
            let [datapath, agent] = [0, 1].map(|at| percentile(&times[at], part).unwrap_or(f64::NAN));
            let name = format!("4.6, flows {class}: CCP to the datapath, {label}");
            match part {
                0.5 if times[0].len() >= ENOUGH => report.bounded(name, agent / datapath, "x", budget),
                _ => report.figure(name, agent / datapath, "x"),
            }
        }
    }
    report.draw("congestion-completion.svg", spreads("Flow completion times (thesis, figure 4.6)", &boxes))
}

/// The rest of the flows that have begun, in messages.
#[derive(Debug, Default)]
struct Progress {
    left: HashMap<u64, u64>,
    complete: Vec<(u64, Duration)>,
}

async fn completions(
    network: Network,
    stack: Reliable,
    path: &Path,
    arrivals: &[Arrival],
) -> Result<Vec<Completion>, bertha_core::Error> {
    let runtime = network.runtime();
    lay(&network, path, &[Duration::ZERO; CONNECTIONS], 1);
    let ends = connect(&network, &stack.packet(PACKET), CONNECTIONS).await?;
    let begin = runtime.elapsed();
    let progress = Arc::new(Mutex::new(Progress::default()));
    let mut tasks = Vec::new();
    for (number, Ends { client, server }) in ends.into_iter().enumerate() {
        let own: Vec<_> =
            arrivals.iter().copied().enumerate().filter(|(_, it)| it.connection == number).collect();
        let clock = runtime.clone();
        tasks.push(runtime.spawn(async move {
            for (flow, arrival) in own {
                clock.sleep((begin + arrival.at).saturating_sub(clock.elapsed())).await;
                let count = messages(arrival.bytes);
                for message in 0..count {
                    let last = arrival.bytes - (count - 1) * MESSAGE as u64;
                    let len = if message + 1 == count { last.max(16) } else { MESSAGE as u64 };
                    let Ok(mut message) = Buf::new(len as usize, 0) else { return };
                    message[..8].copy_from_slice(&(flow as u64).to_be_bytes());
                    message[8..16].copy_from_slice(&count.to_be_bytes());
                    if client.send(message).await.is_err() {
                        return;
                    }
                }
            }
            // The connection stays open until everything has arrived.
            std::future::pending::<()>().await;
        }));
        let progress = Arc::clone(&progress);
        let clock = runtime.clone();
        tasks.push(runtime.spawn(async move {
            while let Ok(message) = server.recv().await {
                let number =
                    |at: usize| message[at..].first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
                let flow = number(0);
                let count = number(8);
                let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
                let left = progress.left.entry(flow).or_insert(count);
                *left -= 1;
                if *left == 0 {
                    progress.left.remove(&flow);
                    progress.complete.push((flow, clock.elapsed()));
                }
            }
        }));
    }
    loop {
        runtime.sleep(Duration::from_secs(1)).await;
        let progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        if progress.complete.len() == arrivals.len() {
            let completion = |(flow, at): &(u64, Duration)| {
                let arrival = arrivals[*flow as usize];
                Completion { bytes: arrival.bytes, took: *at - begin - arrival.at }
            };
            return Ok(progress.complete.iter().map(completion).collect());
        }
    }
}

/// Returns the number of messages of a flow.
pub(super) fn messages(bytes: u64) -> u64 {
    bytes.div_ceil(MESSAGE as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_flows_are_short_and_arrive_at_the_rate() {
        let arrivals = arrivals(SIZES, 20_000, 12e6, 1);
        let short = arrivals.iter().filter(|it| it.bytes <= 10_000).count();
        assert!((19_400..19_640).contains(&short), "{short} of 20,000");
        let bytes: u64 = arrivals.iter().map(|it| it.bytes).sum();
        let rate = bytes as f64 / arrivals[19_999].at.as_secs_f64();
        assert!((11.5e6..12.5e6).contains(&rate), "{rate} bytes per second");
        assert_eq!(size(SIZES, 0.0), 100.0);
        assert_eq!(size(SIZES, 1.0).round(), 30e6);
    }
}
