//! `Reliable` on paths that lose and reorder, beside Linux's TCP with BBR and with CUBIC on the same paths: in real time, between two
//! network namespaces, through a [shaper](shaper) in user space. It needs root.

mod bertha;
mod namespaces;
mod shaper;
mod tcp;

use crate::harness::{Effort, median};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_chunnels::congestion::{Bbr, Cubic};
use bertha_datapath_sim::{Path, Rate};
use namespaces::Namespaces;
use shaper::{Impairments, Shaper};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Against Linux's TCP with BBR.
const HALF: Budget = Budget::AtLeast(0.5);

/// The time before and while bytes are counted.
const WARM_UP: Duration = Duration::from_secs(2);
const COUNTED: Duration = Duration::from_secs(4);

/// The time after which an end looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The path's rate in bytes per second, and its delay each way besides the jitter.
const RATE: u64 = 25_000_000;
const DELAY: Duration = Duration::from_millis(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contender {
    LinuxBbr,
    LinuxCubic,
    /// With the control that it has unless another is chosen.
    Reliable,
    ReliableBbr,
}

const CONTENDERS: [Contender; 4] =
    [Contender::LinuxBbr, Contender::LinuxCubic, Contender::Reliable, Contender::ReliableBbr];

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Self::LinuxBbr => "Linux's TCP with BBR",
            Self::LinuxCubic => "Linux's TCP with CUBIC",
            Self::Reliable => "Reliable",
            Self::ReliableBbr => "Reliable with BBR",
        }
    }
}

/// A flow under measurement: what has arrived, and whether it is to end.
#[derive(Debug, Default)]
struct Progress {
    arrived: AtomicU64,
    is_over: AtomicBool,
}

/// Measures.
///
/// # Errors
/// [`ErrorKind::Core`] if namespaces can't be made although there are the privileges, and those of sockets.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    if let Some(reason) = namespaces::lacking() {
        report.skip("bad paths", reason);
        return Ok(());
    }
    for (name, impairments) in paths() {
        let mut rates: [Vec<f64>; 4] = Default::default();
        // In turns, so that a machine that becomes busier meets all.
        for seed in 0..effort.pick(5, 1) {
            for (contender, rates) in CONTENDERS.into_iter().zip(&mut rates) {
                rates.push(measure(contender, &impairments, seed)?);
            }
        }
        let [bbr, ..] = &rates;
        let bbr = median(bbr).unwrap_or(f64::NAN);
        for (contender, rates) in CONTENDERS.into_iter().zip(&rates) {
            let (rate, label) = (median(rates).unwrap_or(f64::NAN), contender.name());
            report.figure(format!("{name}: {label}"), rate / 1e6, "MB/s");
            if matches!(contender, Contender::Reliable | Contender::ReliableBbr) {
                report.bounded(format!("{name}: {label} to Linux's BBR"), rate / bbr, "x", HALF);
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
            Impairments { path: path(0.005), reordered: 0.01, jitter: Duration::from_millis(20) },
        ),
        (
            "5 % loss, 5 % reordering",
            Impairments { path: path(0.05), reordered: 0.05, jitter: Duration::ZERO },
        ),
    ]
}

/// The bytes that arrive in a second.
fn measure(contender: Contender, impairments: &Impairments, seed: u64) -> Result<f64, Error> {
    let namespaces = Namespaces::new()?;
    let _shaper = Shaper::start(&namespaces, impairments, seed)?;
    let progress = Progress::default();
    std::thread::scope(|scope| {
        let (namespaces, progress) = (&namespaces, &progress);
        let moving = scope.spawn(move || match contender {
            Contender::LinuxBbr => tcp::run(namespaces, "bbr", progress),
            Contender::LinuxCubic => tcp::run(namespaces, "cubic", progress),
            Contender::Reliable => bertha::run(namespaces, Cubic, progress),
            Contender::ReliableBbr => bertha::run(namespaces, Bbr, progress),
        });
        std::thread::sleep(WARM_UP);
        let before = progress.arrived.load(Relaxed);
        std::thread::sleep(COUNTED);
        let bytes = progress.arrived.load(Relaxed) - before;
        progress.is_over.store(true, Relaxed);
        let ended = moving.join().map_err(|_| Error::new(ErrorKind::Core, "an end of a flow panicked"))?;
        ended.map(|()| bytes as f64 / COUNTED.as_secs_f64())
    })
}
