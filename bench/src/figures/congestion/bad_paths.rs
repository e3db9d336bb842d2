//! `Reliable` on paths that lose and reorder, beside Linux's TCP with BBR and with CUBIC on these paths.

use super::shaped::{Impairments, Scene, Transport, lacking};
use crate::Error;
use crate::harness::{Effort, median};
use crate::report::{Budget, Report};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::Cubic;
use bertha_datapath_sim::{Path, Rate};
use std::time::Duration;

/// Budget against Linux's TCP with BBR.
const HALF: Budget = Budget::AtLeast(0.5);

/// Rate of the path in bytes per second, and its delay each way besides the jitter.
const RATE: u64 = 25_000_000;
const DELAY: Duration = Duration::from_millis(5);

/// Measures the rows.
///
/// # Errors
/// [`ErrorKind::Core`](crate::ErrorKind::Core) if namespaces can't be made although the process has the
/// privileges, and errors of sockets.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    if let Some(reason) = lacking() {
        report.skip("bad paths", reason);
        return Ok(());
    }
    let reliable = Reliable::new();
    let contenders = [
        ("Linux's TCP with BBR", Transport::Linux("bbr")),
        ("Linux's TCP with CUBIC", Transport::Linux("cubic")),
        // The stack has the default control.
        ("Reliable", Transport::Bertha(reliable.clone())),
        ("Reliable with CUBIC", Transport::Bertha(reliable.with(Cubic))),
    ];
    for (name, impairments) in paths() {
        let mut rates: [Vec<f64>; 4] = Default::default();
        // The transports run in turns, so that a machine that becomes busier affects all.
        for seed in 0..effort.pick(5, 1) {
            let scene = Scene {
                impairments: impairments.clone(),
                flows: 1,
                stagger: Duration::ZERO,
                warm_up: Duration::from_secs(2),
                counted: Duration::from_secs(4),
                seed,
            };
            for ((_, transport), rates) in contenders.iter().zip(&mut rates) {
                rates.extend(scene.run(transport)?);
            }
        }
        let medians = rates.map(|rates| median(&rates).unwrap_or(f64::NAN));
        for ((label, _), rate) in contenders.iter().zip(medians) {
            report.figure(format!("{name}: {label}"), rate / 1e6, "MB/s");
            if *label == "Reliable" {
                report.bounded(format!("{name}: {label} to Linux's BBR"), rate / medians[0], "x", HALF);
            }
        }
    }
    Ok(())
}

fn paths() -> [(&'static str, Impairments); 2] {
    let path = |loss| Path { loss, ..Path::new(Rate::fixed(RATE), DELAY).buffered(2.0) };
    [
        (
            "0.5 % loss, 1 % reordering, jitter up to 20 ms",
            Impairments {
                reordered: 0.01,
                jitter: Duration::from_millis(20),
                ..Impairments::of(path(0.005))
            },
        ),
        ("5 % loss, 5 % reordering", Impairments { reordered: 0.05, ..Impairments::of(path(0.05)) }),
    ]
}
