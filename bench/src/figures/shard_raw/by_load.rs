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
use bertha_ycsb::plot::{Panel, Series, over_load};
use std::ops::RangeInclusive;
use std::time::Duration;

/// The offered loads, as parts of the throughput of the router that decodes, with 512 requests in flight.
const LOADS: [f64; 7] = [0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.1];

/// Load at which neither router has much to do.
const LOW: f64 = 0.1;

/// Load beyond the capacity of the router that decodes.
const HIGH: f64 = 1.1;

/// Ratio of median latencies at the low load: the pass costs nothing, and gains little where no message waits.
const LATENCY_AT_LOW: RangeInclusive<f64> = 0.5..=1.1;

/// Ratio of throughputs at the low load: both answer everything.
const THROUGHPUT_AT_LOW: RangeInclusive<f64> = 0.98..=1.02;

/// Ratio of throughputs at the high load: the router on raw bytes serves more of it. At most the whole load is
/// served, which is 1.1 of the capacity of the router that decodes; a larger ratio means that this router has
/// collapsed.
const THROUGHPUT_AT_HIGH: RangeInclusive<f64> = 1.03..=1.5;

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
            report.median(format!("{name}, offered"), &samples, |it| it.offered, "ops/s");
            report.median(format!("{name}, sent"), &samples, |it| it.sent, "ops/s");
            report.median(format!("{name}, answered"), &samples, |it| it.answered, "ops/s");
            report.median(format!("{name}, p50"), &samples, |it| it.latency.p50_us, "us");
            report.median(format!("{name}, p95"), &samples, |it| it.latency.p95_us, "us");
            drawing.add(routing, rate, &samples);
        }
        let answered = |it: &Served| it.answered;
        if load == LOW {
            let p50 = |it: &Served| it.latency.p50_us;
            within(report, &format!("{at}, p50, raw to decoding"), &paired, p50, LATENCY_AT_LOW);
            within(
                report,
                &format!("{at}, throughput, raw to decoding"),
                &paired,
                answered,
                THROUGHPUT_AT_LOW,
            );
        }
        if load == HIGH {
            within(
                report,
                &format!("{at}, throughput, raw to decoding"),
                &paired,
                answered,
                THROUGHPUT_AT_HIGH,
            );
        }
    }
    drawing.draw(report)
}

/// Routes requests of an offered load.
fn paced(routing: Routing, requests: &[Vec<u8>], rate: f64, duration: Duration) -> Result<Served, Error> {
    service::run(routing, async |service| {
        let connection = connect(service).await?;
        let flood = Flood::new(&connection);
        flood.paced(requests, rate, duration / 4).await?;
        let served = flood.paced(requests, rate, duration).await?;
        connection.close().await.map_err(failed)?;
        Ok(served)
    })
}

/// Adds the ratio of B to A twice, once for each of its bounds.
fn within(
    report: &mut Report,
    name: &str,
    paired: &Paired<Served>,
    number: impl Fn(&Served) -> f64,
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
    decoding: [Vec<(f64, f64)>; 3],
    raw: [Vec<(f64, f64)>; 3],
}

impl Drawing {
    fn add(&mut self, routing: Routing, rate: f64, samples: &[Served]) {
        let lines = match routing {
            Routing::Decoding => &mut self.decoding,
            Routing::Raw => &mut self.raw,
        };
        let numbers: [fn(&Served) -> f64; 3] =
            [|it| it.answered / 1e3, |it| it.latency.p50_us, |it| it.latency.p95_us];
        for (line, number) in lines.iter_mut().zip(numbers) {
            let values: Vec<_> = samples.iter().map(number).collect();
            line.extend(median(&values).map(|value| (rate / 1e3, value)));
        }
    }

    fn draw(self, report: &mut Report) -> Result<(), Error> {
        let names = ["Answered (thousand operations/s)", "Median latency (µs)", "95th percentile (µs)"];
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
                Ok(served) => {
                    assert!(served.answered > 0.0 && served.answered <= served.sent, "{served:?}");
                    // A stamp that was changed on the way would be a time in the future, or in the far past.
                    assert!(served.latency.p50_us > 0.0 && served.latency.max_us < 125e3, "{served:?}");
                }
            }
        }
    }
}
