//! The program `bertha-bench shard-raw`: a server that routes to two remote shards, and either decodes every
//! message for its key, or reads the key in place.
//!
//! The router has a core to itself, and its cost is the processor time of its thread. Client and shards share
//! the other core. Both routers use a common protocol with a common client and shards; they differ only in a
//! pass.
//!
//! The capacity of a router shows only while it is busy. So its neighbours cost as little as they can: the
//! client's requests are encoded beforehand, shards return each request as it is, and neither looks into a
//! message. Requests and replies are messages of the key-value store, in its format and of 132 bytes as in
//! the thesis.
//!
//! [`by_load`] repeats the thesis's figure 3.10: latency and throughput by offered load.

mod by_load;
mod encoded;
mod flood;
mod paced;
mod service;

use crate::harness::{Effort, alternate, median};
use crate::kv::Workload;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha::Buf;
use bertha::chunnels::ServerShard;
use bertha::prelude::*;
use bertha_kvstore::Messages;
use encoded::{Encoded, requests};
use flood::Flood;
use service::{Routing, Service};
use std::time::Duration;

/// Number of requests in flight while processor time is measured.
const IN_FLIGHT: u64 = 512;

/// Budget of requests per second of processor time on raw bytes against decoding.
const RAW: Budget = Budget::Between(2.0, 6.0);

/// The figures of a run of a router.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    /// Requests, each with its reply, per second of the router's processor time.
    requests_per_cpu_second: f64,
    /// Requests answered per second.
    requests_per_second: f64,
    /// Share of the time in which the router had work.
    busy: f64,
}

/// Measures the rows.
///
/// # Errors
/// [`ErrorKind::Bertha`] when a connection fails, [`ErrorKind::Stalled`] when nothing comes back.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("shard-raw");
    let workload = workload();
    let seconds = effort.pick(0.4, 0.2);
    let sample = |routing| closed(routing, &workload, seconds);
    let paired = alternate(effort.pairs(), || sample(Routing::Decoding), || sample(Routing::Raw));
    let name = "requests per CPU second, raw to decoding";
    let Some(paired) = report.unless_impossible(name, paired)? else { return Ok(report) };
    report.compare(name, &paired, |it| it.requests_per_cpu_second, Some(RAW));
    for (name, samples) in [("decoding", paired.a()), ("raw", paired.b())] {
        report.median(
            format!("{name}, per CPU second"),
            &samples,
            |it| it.requests_per_cpu_second,
            "requests",
        );
        report.median(format!("{name}, throughput"), &samples, |it| it.requests_per_second, "ops/s");
        report.median(format!("{name}, busy"), &samples, |it| 100.0 * it.busy, "%");
    }
    let answered: Vec<_> = paired.a().iter().map(|it| it.requests_per_second).collect();
    if let Some(capacity) = median(&answered) {
        by_load::add(&mut report, &workload, capacity, effort)?;
    }
    Ok(report)
}

/// Returns the mix of requests. It has only updates, so that requests are as long as replies.
fn workload() -> Workload {
    Workload { value_bytes: 104, reads: 0.0, ..Workload::default() }
}

/// Routes requests, of which a fixed number is in flight.
fn closed(routing: Routing, workload: &Workload, seconds: f64) -> Result<Sample, Error> {
    service::run(routing, async |service| {
        let connection = connect(service).await?;
        let flood = Flood::new(&connection);
        let requests = requests(workload)?;
        let duration = Duration::from_secs_f64(seconds);
        flood.closed(&requests, IN_FLIGHT, duration / 4).await?;
        let before = service.cpu_time().await?;
        let answered = flood.closed(&requests, IN_FLIGHT, duration).await?;
        let spent = service.cpu_time().await?.saturating_sub(before);
        connection.close().await.map_err(failed)?;
        if answered.replies == 0 {
            return Err(Error::new(ErrorKind::Stalled, "nothing came back through the router"));
        }
        Ok(Sample {
            requests_per_cpu_second: answered.replies as f64 / spent.as_secs_f64(),
            requests_per_second: answered.replies as f64 / answered.elapsed.as_secs_f64(),
            busy: spent.as_secs_f64() / answered.elapsed.as_secs_f64(),
        })
    })
}

async fn connect(service: &Service) -> Result<impl Connection<Data = Buf> + use<>, Error> {
    // The layers are common to both routers.
    let layers = make_stack!(ServerShard::new(service.map.clone()), Messages::new());
    let stack = make_stack!(Encoded::like(&layers));
    stack.connect(bertha::datapath(), service.router).await.map_err(failed)
}

fn failed(error: bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "talking to the router")(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_as_long_as_in_the_thesis() {
        let requests = requests(&workload()).unwrap();
        let mean = requests.iter().map(Vec::len).sum::<usize>() as f64 / requests.len() as f64;
        assert!((131.0..133.0).contains(&mean), "{mean}");
    }

    #[test]
    fn both_routers_answer() {
        let workload = Workload { records: 50, ..workload() };
        for routing in [Routing::Decoding, Routing::Raw] {
            match closed(routing, &workload, 0.05) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Core, "{error}"),
                Ok(sample) => assert!(sample.requests_per_cpu_second > 0.0 && sample.busy > 0.0),
            }
        }
    }
}
