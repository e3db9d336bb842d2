//! Small calls of one application beside large requests of another, with and without the engine `qos`: Table 3.4 of the seed.
//!
//! The small calls come one at a time, and each some time after the outcome of the one before, so that they take a small part of the core,
//! as they do in the seed: calls that are faster do not come more often by much, and what the large ones lose is the price of the engine.

use super::by_daemon;
use super::chain::{Chain, Way};
use super::process::Process;
use crate::harness::{Effort, Latency, Paired, Recorder, alternate, in_time, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Budgets with the engine against without it: the 99th percentile of the small calls, and the goodput of the large ones.
const SMALL: Budget = Budget::AtMost(0.5);
const LARGE: Budget = Budget::AtLeast(0.95);

/// Number of bytes of a small request.
const SMALL_BYTES: usize = 32;

/// Time between a small call and the next.
const PAUSE: Duration = Duration::from_millis(2);

/// The large requests: their bytes, and their number in flight. The seed has the first.
const SIZES: [(usize, usize); 3] = [(32 << 10, 64), (256 << 10, 16), (512 << 10, 8)];

/// The figures of the two applications.
#[derive(Debug, Clone, Copy)]
struct Sample {
    small: Latency,
    large_per_second: f64,
}

/// Measures the rows.
///
/// # Errors
/// Errors of the processes.
pub(super) fn rows(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let ways = ["null", "qos"].map(|engine| Way::Daemons { engine: Some(engine) });
    for (bytes, in_flight) in SIZES {
        let [without, with] = ways.map(Chain::start);
        let (without, with) = (without?, with?);
        let measure = |chain: &Chain| measure(chain, bytes, in_flight, effort);
        let paired = alternate(effort.pick(6, 2), || measure(&without), || measure(&with))?;
        write(report, bytes, &paired);
    }
    Ok(())
}

fn write(report: &mut Report, bytes: usize, paired: &Paired<Sample>) {
    let name = format!("small calls beside requests of {bytes} bytes");
    let gigabits = |it: &Sample| it.large_per_second * bytes as f64 * 8.0 / 1e9;
    for (way, samples) in [("without qos", paired.a()), ("with qos", paired.b())] {
        report.median(format!("{name}, {way}: p50"), &samples, |it| it.small.p50_us, "us");
        report.median(format!("{name}, {way}: p95"), &samples, |it| it.small.p95_us, "us");
        report.median(format!("{name}, {way}: p99"), &samples, |it| it.small.p99_us, "us");
        report.median(format!("{name}, {way}: the large ones"), &samples, gigabits, "Gbit/s");
    }
    report.compare(&format!("{name}: p95 with qos, to without"), paired, |it| it.small.p95_us, None);
    report.compare(&format!("{name}: p99 with qos, to without"), paired, |it| it.small.p99_us, Some(SMALL));
    report.compare(&format!("{name}: bulk with qos, to without"), paired, gigabits, Some(LARGE));
}

/// Runs both applications for some time.
fn measure(chain: &Chain, bytes: usize, in_flight: usize, effort: Effort) -> Result<Sample, Error> {
    let socket = chain.socket().ok_or_else(|| Error::new(ErrorKind::Core, "there is no daemon"))?;
    let [path, bytes, in_flight, milliseconds] = [
        socket.display().to_string(),
        bytes.to_string(),
        in_flight.to_string(),
        effort.pick(4_000, 500).to_string(),
    ];
    let mut large = Process::of_this_program(&[
        "managed-ask",
        "--socket",
        &path,
        "--bytes",
        &bytes,
        "--in-flight",
        &in_flight,
        "--milliseconds",
        &milliseconds,
    ])?;
    large.says("begun")?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let small = scope.spawn(|| runtime()?.block_on(in_time(small_calls(socket, &is_over))));
        let said = large.says("calls per second:");
        is_over.store(true, Ordering::Relaxed);
        let small = small.join().map_err(|_| Error::new(ErrorKind::Core, "a thread panicked"))??;
        let large_per_second =
            said?.parse().map_err(Error::while_doing(ErrorKind::Core, "reading a rate"))?;
        Ok(Sample { small, large_per_second })
    })
}

async fn small_calls(socket: &Path, is_over: &AtomicBool) -> Result<Latency, Error> {
    let client = by_daemon::client(socket, "small").await?;
    let (payload, mut recorder) = ([7; SMALL_BYTES], Recorder::new()?);
    while !is_over.load(Ordering::Relaxed) {
        let sent = Instant::now();
        if by_daemon::call(&client, &payload).await? != SMALL_BYTES {
            return Err(Error::new(ErrorKind::Codec, "a wrong answer came back"));
        }
        recorder.record(sent.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    Ok(recorder.summary())
}
