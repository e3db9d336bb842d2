//! Figure 4.9: fifty flows that begin at once, over round trips of 20 µs, by the time between reports.

use super::control::Control;
use super::flows::{MESSAGE, PACKET, connect, lay, simulation};
use crate::harness::{Effort, percentile};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_chunnels::Reliable;
use bertha_core::{Buf, Connection, Runtime};
use bertha_datapath_sim::{Network, Path, Rate};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

const FLOWS: usize = 50;

/// Size of the switch's buffer, in packets.
const BUFFER: u64 = 1_000;

/// Budget of the last flow's end, by reports each 10 µs, against the datapath's.
const OFTEN: Budget = Budget::AtMost(1.15);

const PERIODS: [Duration; 3] =
    [Duration::from_micros(10), Duration::from_micros(100), Duration::from_micros(1_000)];

/// Measures the rows.
///
/// # Errors
/// Errors of the simulation.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let seeds = effort.pick(10, 2);
    for gigabits in [10, 40] {
        for packets in effort.pick(&[10, 100, 1_000][..], &[10, 100]) {
            let tail = |control: Control| -> Result<f64, Error> {
                let ends: Result<Vec<_>, _> =
                    (1..=seeds).map(|seed| end(control, gigabits, *packets, seed)).collect();
                Ok(percentile(&ends?, 0.5).unwrap_or(f64::NAN))
            };
            let name = format!("4.9, {gigabits} Gbit/s, {packets} packets of each of {FLOWS}");
            let datapath = tail(Control::NewReno)?;
            report.figure(format!("{name}: the last ends in the datapath"), datapath * 1e3, "ms");
            for period in PERIODS {
                let ratio = tail(Control::Reporting(period))? / datapath;
                let name = format!("{name}: by reports each {period:?}");
                match period == PERIODS[0] {
                    true => report.bounded(name, ratio, "x", OFTEN),
                    false => report.figure(name, ratio, "x"),
                }
            }
        }
    }
    Ok(())
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
    let begin = runtime.elapsed();
    let mut sending = Vec::new();
    let mut receiving = Vec::new();
    for ends in ends {
        let start = runtime.sleep(Duration::from_nanos(rng.random_range(0..10_000)));
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
