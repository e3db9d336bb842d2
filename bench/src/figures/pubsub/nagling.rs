//! Calls and latencies of a hundred messages, without batches, with `Nagle`, and of an application that makes batches itself (thesis,
//! Figure 3.8).

use super::counted::{Count, Counted};
use super::exchange::{Plan, Sends, latencies};
use super::ours::{Publishing, Receiving};
use super::place::{Places, SQS};
use super::{failed, unused};
use crate::Error;
use crate::harness::{Effort, median};
use crate::report::{Budget, Report};
use bertha_chunnels::Nagle;
use bertha_core::{Buf, Connection, Wrap, make_stack};
use bertha_plot::{Panel, PlotError, Series, over};
use bertha_queues::sqs::Sqs;
use bertha_queues::{QueueConnection, Service, Topic};
use std::cell::RefCell;
use std::time::Duration;
use tokio::runtime::Runtime;

const MESSAGES: u32 = 100;

/// Largest number of messages in a call to SQS.
const BATCH: usize = 10;

/// The sides that make batches, with their names.
const KINDS: [(&str, Batches); 4] = [
    ("no batches", Batches::Nobody),
    ("Nagle", Batches::Nagle(Duration::ZERO)),
    ("Nagle that waits 25 ms", Batches::Nagle(Duration::from_millis(25))),
    ("batches of the application", Batches::Application),
];

/// Budget of the calls with `Nagle` against the calls without it. Below the lower end, messages would wait for longer than the figure says.
const CALLS: Budget = Budget::Between(0.4, 0.92);

/// Budget of the median latency with `Nagle` against the latency without it.
const LATENCY: Budget = Budget::Between(0.8, 1.6);

/// The side that makes batches.
#[derive(Clone, Copy, PartialEq)]
enum Batches {
    Nobody,
    /// `Nagle`, whose messages wait for this time.
    Nagle(Duration),
    Application,
}

/// The outcome of a run.
#[derive(Clone, Copy)]
struct Run {
    calls: f64,
    median_ms: f64,
}

pub(super) fn measure(
    report: &mut Report,
    runtime: &Runtime,
    places: &Places,
    effort: Effort,
) -> Result<(), Error> {
    let Some(site) = places.sqs() else {
        report.skip("calls with and without batches", "BERTHA_ELASTICMQ is not set");
        return Ok(());
    };
    let mut lines = KINDS.map(|kind| Line { name: kind.0, runs: Vec::new() });
    for pause in [10, 20] {
        for ((name, batches), line) in KINDS.into_iter().zip(&mut lines) {
            let runs = (0..effort.pick(10, 3))
                .map(|_| runtime.block_on(play(&site.service, batches, Duration::from_millis(pause))))
                .collect::<Result<Vec<_>, _>>()?;
            let of = |number: fn(&Run) -> f64| {
                median(&runs.iter().map(number).collect::<Vec<_>>()).unwrap_or(f64::NAN)
            };
            let run = Run { calls: of(|run| run.calls), median_ms: of(|run| run.median_ms) };
            let name = format!("{SQS}, {pause} ms apart, {name}");
            report.figure(format!("{name}: calls for {MESSAGES} messages"), run.calls, "calls");
            report.figure(format!("{name}: latency"), run.median_ms, "ms");
            line.runs.push((pause as f64, run));
        }
        let [none, nagle] = [0, 1].map(|kind| lines[kind].runs[lines[kind].runs.len() - 1].1);
        let to_none = |what| format!("{SQS}, {pause} ms apart: {what}, Nagle to no batches");
        report.bounded(to_none("calls"), nagle.calls / none.calls, "x", CALLS);
        report.bounded(to_none("latency"), nagle.median_ms / none.median_ms, "x", LATENCY);
    }
    report.draw("pubsub-batches.svg", draw(&lines))
}

/// The runs of a side that makes batches, by the milliseconds between messages.
struct Line {
    name: &'static str,
    runs: Vec<(f64, Run)>,
}

fn draw(lines: &[Line]) -> Result<String, PlotError> {
    let panel = |name, number: fn(&Run) -> f64| {
        let points = |line: &Line| line.runs.iter().map(|(pause, run)| (*pause, number(run))).collect();
        let series = |line: &Line| Series { label: line.name.to_owned(), points: points(line) };
        Panel { name, series: lines.iter().map(series).collect(), mark: None }
    };
    let panels =
        [panel("Calls for 100 messages", |run| run.calls), panel("Latency (ms)", |run| run.median_ms)];
    let title = format!("Calls and latency by the side that makes batches: {SQS} (thesis, figure 3.8)");
    over("Time between messages (ms)", &title, &panels)
}

async fn play(service: &Sqs, batches: Batches, pause: Duration) -> Result<Run, Error> {
    let count = Count::default();
    let topic = Topic::new(Counted { inner: service.clone(), count: count.clone() }, unused("nagling"))
        .acknowledge_by_dropping();
    topic.create().await.map_err(failed)?;
    let receiver = topic.receiver("bench").await.map_err(failed)?;
    let publisher = topic.publisher().await.map_err(failed)?;
    // Messages come at their time, also while earlier messages are on their way.
    let plan = Plan { messages: MESSAGES, pause, groups: 1, overlaps: true };
    let latencies = match batches {
        Batches::Nobody => latencies(&Publishing(publisher), &mut Receiving::new(receiver), plan).await?,
        Batches::Nagle(wait) => {
            let publisher = make_stack!(Nagle::new().wait(wait)).wrap(publisher).await.map_err(failed)?;
            let receiver = make_stack!(Nagle::new()).wrap(receiver).await.map_err(failed)?;
            latencies(&Publishing(publisher), &mut Receiving::new(receiver), plan).await?
        }
        Batches::Application => {
            let publisher = ByApplication { inner: Publishing(publisher), gathered: RefCell::default() };
            latencies(&publisher, &mut Receiving::new(receiver).bursts(BATCH), plan).await?
        }
    };
    topic.delete().await.map_err(failed)?;
    Ok(Run { calls: count.calls() as f64, median_ms: median(&latencies).unwrap_or(f64::NAN) / 1e3 })
}

/// An application that sends every ten messages as a burst.
struct ByApplication<S: Service> {
    inner: Publishing<QueueConnection<S>>,
    gathered: RefCell<Vec<Buf>>,
}

impl<S: Service> ByApplication<S> {
    async fn send_gathered(&self) -> Result<(), Error> {
        let burst = self.gathered.take();
        self.inner.0.send_batch(burst.into_iter()).await.map_err(failed)
    }
}

impl<S: Service> Sends for ByApplication<S> {
    async fn send(&self, message: Vec<u8>) -> Result<(), Error> {
        let message = self.inner.buffer(&message)?;
        let is_full = {
            let mut gathered = self.gathered.borrow_mut();
            gathered.push(message);
            gathered.len() == BATCH
        };
        if is_full { self.send_gathered().await } else { Ok(()) }
    }

    async fn flush(&self) -> Result<(), Error> {
        self.send_gathered().await
    }
}
