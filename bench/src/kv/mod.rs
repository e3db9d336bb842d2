//! The program `bertha-bench kv`: the key-value store under workload B, over Bertha and by hand; routed at
//! different places; and offered twice its peak.

mod bertha;
mod client;
mod closed_loop;
mod codec;
#[cfg(any(feature = "caladan", feature = "dpdk"))]
mod curve;
#[cfg(feature = "caladan")]
pub(crate) mod inlined;
mod overload;
#[cfg(feature = "dpdk")]
mod ports;
mod raw;
mod routing;
mod workload;

#[cfg(feature = "dpdk")]
pub(crate) use ports::Ports;
#[cfg(any(feature = "caladan", feature = "dpdk"))]
pub(crate) use {bertha::load_and_measure, client::Client, curve::Curve};

pub(crate) use codec::{Format, Postcard};
pub(crate) use workload::{Phase, Workload};

use crate::Error;
use crate::harness::{Counter, Effort, Latency, Paired, Recorder, alternate, checksums};
use crate::report::{Budget, Report};
use clap::Args;
use codec::Bincode;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Largest number of messages that either store or client takes before it sends: equal over Bertha and by
/// hand.
const BURST: usize = 256;

/// The load on a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// Number of shards, each with its own socket; at least one.
    pub(crate) shards: usize,
    /// Number of requests in flight for each shard.
    pub(crate) in_flight: usize,
    /// Number of measured requests, over all shards.
    pub(crate) requests: u64,
    /// The mix of requests.
    pub(crate) workload: Workload,
    /// Time without a single reply after which everything in flight counts as lost and is sent again.
    pub(crate) timeout: Duration,
}

impl Default for Setup {
    /// Returns a single shard, workload B, and 512 requests in flight: enough that both cores always have
    /// work. With 32 requests the cores sleep and wake in turn for most of the time, and a slower program
    /// would be just as fast.
    fn default() -> Self {
        let timeout = Duration::from_millis(200);
        Self { shards: 1, in_flight: 512, requests: 100_000, workload: Workload::default(), timeout }
    }
}

/// The figures of a run of a store.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Requests answered per second.
    pub(crate) requests_per_second: f64,
    /// Latency from the first sending of a request to its reply.
    pub(crate) latency: Latency,
    /// Number of requests that were sent again because no reply came for a while.
    pub(crate) resent: u64,
}

impl Sample {
    fn new(latency: &Recorder, elapsed: Duration, resent: u64) -> Self {
        let requests_per_second = latency.count() as f64 / elapsed.as_secs_f64();
        Self { requests_per_second, latency: latency.summary(), resent }
    }
}

/// The load of `bertha-bench kv`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Shards, each with a thread and a socket
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    shards: Vec<usize>,
    /// Requests in flight to each shard; few of them measure wake-ups instead of work
    #[arg(long, default_value_t = Setup::default().in_flight)]
    in_flight: usize,
    /// Bytes of each value
    #[arg(long, default_value_t = Workload::default().value_bytes)]
    value_bytes: usize,
    /// Only the places where requests are routed
    #[arg(long)]
    routing: bool,
}

/// Budget of negotiation, Chunnels and routing, against the store by hand.
const INSTRUCTIONS: Budget = Budget::AtMost(1.08);
const THROUGHPUT: Budget = Budget::AtLeast(0.95);

/// Budget of the share of checksums in the store's instructions.
const CHECKSUMS: Budget = Budget::Between(0.01, 0.1);

/// Measures the rows.
///
/// # Errors
/// Errors of the stores, and of the counter.
pub(crate) fn run(options: &Options, effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("kv");
    if options.routing {
        routing::run(&mut report, effort)?;
        return Ok(report);
    }
    instructions(&mut report, effort.pick(50_000, 20_000))?;
    for &shards in &options.shards {
        let workload = Workload { value_bytes: options.value_bytes, ..Workload::default() };
        let requests = effort.pick(400_000, 200_000);
        let setup = Setup { shards, in_flight: options.in_flight, requests, workload, ..Setup::default() };
        let by_hand = || raw::across_cores::<Postcard>(&setup);
        let paired = alternate(effort.pairs(), by_hand, || bertha::across_cores(&setup));
        let name = format!("{shards} shards, throughput and latency");
        if let Some(paired) = report.unless_impossible(&name, paired)? {
            times(&paired, shards, &mut report);
        }
    }
    routing::run(&mut report, effort)?;
    overload::run(&mut report, effort)?;
    Ok(report)
}

/// Counts the work of client and store per request, over Bertha and by hand.
///
/// # Errors
/// Errors of the counter.
pub(crate) fn instructions(report: &mut Report, requests: u64) -> Result<(), Error> {
    for shards in [1, 2] {
        let name = |program| format!("{}, {program}, both ends, per request", shown(shards));
        let count =
            |program: &str| Counter::of_probe(format!("kv-{program}-{shards}"))?.instructions(requests);
        let raw = report.count(&name("raw sockets"), count("raw"))?;
        let bertha = report.count(&name("Bertha"), count("bertha"))?;
        if let (Some(raw), Some(bertha)) = (raw, bertha) {
            let name = format!("{}, instructions, Bertha to raw sockets", shown(shards));
            report.bounded(name, bertha / raw, "x", INSTRUCTIONS);
        }
        if let Some(bertha) = bertha.filter(|_| shards == 1) {
            let checksums = count("crc");
            if let Some(checksums) = report.unless_impossible("checksums", checksums)? {
                report.bounded("1 shard, share of checksums", checksums / bertha, "of all", CHECKSUMS);
            }
        }
    }
    Ok(())
}

/// Computes the checksums of this number of requests and of their replies: of two messages, one has a value.
///
/// The messages are in postcard, so that the compiler inlines the encoding of the counted programs as it does without this one.
fn checksums_of(requests: u64) -> Result<(), Error> {
    let mut script = Workload::default().script()?;
    let mut space = [0; 1_024];
    let length = Postcard::encode(script.request(Phase::Load, 0), &mut space)?;
    let with_value = &space[..length];
    let without = &with_value[..length.saturating_sub(Workload::default().value_bytes)];
    checksums((0..requests).flat_map(|_| [without, with_value]));
    Ok(())
}

/// Runs a probe, `raw-SHARDS` or `bertha-SHARDS`, if there is a probe with this name.
pub(crate) fn probe(name: &str, requests: u64) -> Option<Result<(), Error>> {
    let (program, shards) = name.split_once('-')?;
    let shards = shards.parse().ok().filter(|it| *it > 0)?;
    // A single thread loses nothing. Under the counter, though, the first replies may take longer than the
    // usual time-out, and requests that are sent again would count.
    let setup = Setup { requests, shards, timeout: Duration::from_secs(10), ..Setup::default() };
    // Both in bincode, as the stored counts were.
    match program {
        "raw" => Some(raw::on_one_thread::<Bincode>(&setup).map(drop)),
        "bertha" => Some(bertha::on_one_thread(&setup).map(drop)),
        "crc" => Some(checksums_of(requests)),
        _ => None,
    }
}

fn shown(shards: usize) -> String {
    if shards == 1 { "1 shard".to_owned() } else { format!("{shards} shards") }
}

fn times(paired: &Paired<Sample>, shards: usize, report: &mut Report) {
    let shards = shown(shards);
    for (name, samples) in [("raw sockets", paired.a()), ("Bertha", paired.b())] {
        figures(&format!("{shards}, {name}"), &samples, report);
    }
    let throughput = |it: &Sample| it.requests_per_second;
    report.compare(
        &format!("{shards}, throughput, Bertha to raw sockets"),
        paired,
        throughput,
        Some(THROUGHPUT),
    );
    report.compare(&format!("{shards}, p99, Bertha to raw sockets"), paired, |it| it.latency.p99_us, None);
}

/// Adds the medians of some runs of a store.
pub(crate) fn figures(name: &str, samples: &[Sample], report: &mut Report) {
    report.median(format!("{name}, throughput"), samples, |it| it.requests_per_second, "ops/s");
    report.median(format!("{name}, p50"), samples, |it| it.latency.p50_us, "us");
    report.median(format!("{name}, p99"), samples, |it| it.latency.p99_us, "us");
    report.median(format!("{name}, resent"), samples, |it| it.resent as f64, "requests");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::harness::usable;

    fn few(shards: usize, in_flight: usize) -> Setup {
        let workload = Workload { records: 50, value_bytes: 10, reads: 0.5 };
        Setup { shards, in_flight, requests: 501, workload, ..Setup::default() }
    }

    #[test]
    fn every_request_is_answered_on_one_thread() {
        for (shards, in_flight) in [(1, 1), (1, 300), (2, 8)] {
            for run in [raw::on_one_thread::<Bincode>, bertha::on_one_thread] {
                let sample = run(&few(shards, in_flight)).unwrap();
                assert!(sample.requests_per_second > 0.0 && sample.latency.p50_us > 0.0, "{sample:?}");
            }
        }
    }

    #[test]
    fn every_request_is_answered_across_cores() {
        for run in [raw::across_cores::<Postcard>, bertha::across_cores] {
            match run(&few(2, 8)) {
                Err(error) if usable().unwrap().len() < 2 => assert_eq!(error.kind(), ErrorKind::Core),
                sample => assert!(sample.unwrap().latency.p99_us > 0.0),
            }
        }
    }

    #[test]
    fn probes_are_known_by_their_names() {
        assert!(probe("raw-1", 10).unwrap().is_ok() && probe("bertha-2", 10).unwrap().is_ok());
        assert!(probe("bertha-0", 1).is_none() && probe("other-1", 1).is_none());
    }
}
