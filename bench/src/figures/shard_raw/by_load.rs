//! Latency and throughput of both routers by offered load: the thesis's figure 3.10.

use super::encoded::requests;
use super::flood::Flood;
use super::paced::Served;
use super::service::{self, Routing};
use super::{connect, failed};
use crate::Error;
use crate::harness::{Effort, Paired, alternate, median, ratio_of_medians};
use crate::kv::Workload;
use crate::report::{Budget, Report};
use bertha::Connection;
use bertha_plot::{Panel, Series, over_load};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The offered loads, as parts of the throughput of the router that decodes, with 512 requests in flight.
const LOADS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1];

/// Load at which neither router has much to do.
const LOW: f64 = 0.1;

/// Load beyond the capacity of the router that decodes.
const HIGH: f64 = 1.1;

/// Ratio of median latencies at the low load: the pass costs nothing, and gains little where no message
/// waits.
const LATENCY_AT_LOW: RangeInclusive<f64> = 0.5..=1.1;

/// Ratio of throughputs at the low load: both answer everything.
const THROUGHPUT_AT_LOW: RangeInclusive<f64> = 0.98..=1.02;

/// Ratio of throughputs at the high load: the router on raw bytes serves more of it. At most the whole load
/// is served, which is 1.1 of the capacity of the router that decodes; a larger ratio means that this router
/// has collapsed.
const THROUGHPUT_AT_HIGH: RangeInclusive<f64> = 1.03..=1.5;

/// Ratio of median latencies at the high load: fewer messages wait at the router on raw bytes.
const LATENCY_AT_HIGH: RangeInclusive<f64> = 0.05..=0.9;

/// Ratio of the router's processor times per request at the low load, where system calls for few messages each
/// are almost all of it.
const CPU_AT_LOW: RangeInclusive<f64> = 0.9..=1.05;

/// Ratio of the router's processor times per request at the high load, where bursts share system calls.
const CPU_AT_HIGH: RangeInclusive<f64> = 0.4..=0.9;

/// A router under an offered load.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    served: Served,
    /// Processor time of the router for a request and its reply, in nanoseconds.
    cpu_ns: f64,
}

/// A number of a sample.
type Figure = fn(&Sample) -> f64;

/// Measures both routers at each load, and adds the rows and the figure.
///
/// # Errors
/// The errors of a connection, and of drawing.
pub(super) fn add(
    report: &mut Report,
    workload: &Workload,
    capacity: f64,
    effort: Effort,
) -> Result<(), Error> {
    let requests = requests(workload)?;
    let duration = Duration::from_secs_f64(effort.pick(0.4, 0.2));
    let mut drawing = Drawing::default();
    for load in LOADS {
        let rate = load * capacity;
        let sample = |routing| paced(routing, &requests, rate, duration);
        let paired = alternate(effort.pick(7, 3), || sample(Routing::Decoding), || sample(Routing::Raw))?;
        let at = format!("load {load}");
        for (routing, samples) in [(Routing::Decoding, paired.a()), (Routing::Raw, paired.b())] {
            let name = format!("{at}, {}", routing.name());
            report.median(format!("{name}, offered"), &samples, |it| it.served.offered, "ops/s");
            report.median(format!("{name}, sent"), &samples, |it| it.served.sent, "ops/s");
            report.median(format!("{name}, answered"), &samples, |it| it.served.answered, "ops/s");
            report.median(format!("{name}, p50"), &samples, |it| it.served.latency.p50_us, "us");
            report.median(format!("{name}, p95"), &samples, |it| it.served.latency.p95_us, "us");
            report.median(
                format!("{name}, processor time of the router"),
                &samples,
                |it| it.cpu_ns,
                "ns/request",
            );
            drawing.add(routing, rate, &samples);
        }
        let bounds = match load {
            LOW => [LATENCY_AT_LOW, THROUGHPUT_AT_LOW, CPU_AT_LOW],
            HIGH => [LATENCY_AT_HIGH, THROUGHPUT_AT_HIGH, CPU_AT_HIGH],
            _ => continue,
        };
        let figures: [(&str, Figure); 3] = [
            ("p50", |it| it.served.latency.p50_us),
            ("throughput", |it| it.served.answered),
            ("processor time of the router", |it| it.cpu_ns),
        ];
        for ((name, number), bounds) in figures.into_iter().zip(bounds) {
            within(report, &format!("{at}, {name}, raw to decoding"), &paired, number, bounds);
        }
    }
    drawing.draw(report)
}

/// Routes requests of an offered load.
fn paced(routing: Routing, requests: &[Vec<u8>], rate: f64, duration: Duration) -> Result<Sample, Error> {
    service::run(routing, async |service| {
        let connection = connect(service).await?;
        let flood = Flood::new(&connection);
        flood.paced(requests, rate, duration / 4).await?;
        let before = service.cpu_time().await?;
        let served = flood.paced(requests, rate, duration).await?;
        let spent = service.cpu_time().await?.saturating_sub(before);
        connection.close().await.map_err(failed)?;
        Ok(Sample { served, cpu_ns: spent.as_nanos() as f64 / served.replies as f64 })
    })
}

/// Adds the ratio of B to A twice, once for each of its bounds.
fn within(
    report: &mut Report,
    name: &str,
    paired: &Paired<Sample>,
    number: impl Fn(&Sample) -> f64,
    bounds: RangeInclusive<f64>,
) {
    let pairs: Vec<_> = paired.ab.iter().map(|(a, b)| (number(b), number(a))).collect();
    let ratio = ratio_of_medians(&pairs, 0);
    report.ratio(format!("{name}, lower bound"), ratio, Some(Budget::AtLeast(*bounds.start())));
    report.ratio(format!("{name}, upper bound"), ratio, Some(Budget::AtMost(*bounds.end())));
}

/// The lines of both routers: throughput and latencies.
#[derive(Default)]
struct Drawing {
    decoding: [Vec<(f64, f64)>; 4],
    raw: [Vec<(f64, f64)>; 4],
}

impl Drawing {
    fn add(&mut self, routing: Routing, rate: f64, samples: &[Sample]) {
        let lines = match routing {
            Routing::Decoding => &mut self.decoding,
            Routing::Raw => &mut self.raw,
        };
        let numbers: [Figure; 4] = [
            |it| it.served.answered / 1e3,
            |it| it.served.latency.p50_us,
            |it| it.served.latency.p95_us,
            |it| it.cpu_ns,
        ];
        for (line, number) in lines.iter_mut().zip(numbers) {
            let values: Vec<_> = samples.iter().map(number).collect();
            line.extend(median(&values).map(|value| (rate / 1e3, value)));
        }
    }

    fn draw(self, report: &mut Report) -> Result<(), Error> {
        let names = ["Answered (1000/s)", "Median (µs)", "95th percentile (µs)", "Router (ns/request)"];
        let panels: Vec<_> = names
            .into_iter()
            .zip(self.decoding.into_iter().zip(self.raw))
            .map(|(name, (decoding, raw))| {
                let line = |routing: Routing, points| Series { label: routing.name().to_owned(), points };
                let series = vec![line(Routing::Decoding, decoding), line(Routing::Raw, raw)];
                Panel { name, series, mark: None }
            })
            .collect();
        let title = "A router of two remote shards, by offered load";
        report.draw("shard-raw.svg", over_load(title, &panels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn replies_of_both_routers_have_the_stamps_of_their_requests() {
        let workload = Workload { records: 50, ..super::super::workload() };
        let requests = requests(&workload).unwrap();
        for routing in [Routing::Decoding, Routing::Raw] {
            match paced(routing, &requests, 2000.0, Duration::from_millis(100)) {
                Err(error) => assert_eq!(error.kind(), ErrorKind::Core, "{error}"),
                Ok(Sample { served, cpu_ns }) => {
                    assert!(served.answered > 0.0 && served.answered <= served.sent, "{served:?}");
                    // The latency of a reply whose stamp is a time in the future would be zero.
                    assert!(served.latency.p50_us > 0.0 && cpu_ns > 0.0, "{served:?}");
                }
            }
        }
    }
}
