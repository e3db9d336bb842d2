//! Latency over time, as a second receiver joins and the order moves from the first receiver to the service
//! (thesis, Figure 3.7 and Listing 3.5).
//!
//! Over SQS, the first half goes through a standard queue and the second one through a FIFO queue, whose calls are
//! [slowed](super::slowed) by a model. NATS keeps the order of a topic at no cost, so both halves go through one.

use super::exchange::{MESSAGE, group, message, number};
use super::place::Places;
use super::slowed::{FIFO_CALL, Slowed};
use super::{failed, unused};
use crate::harness::{Effort, in_time, median};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_chunnels::{OrderedByKey, ServiceOrdered};
use bertha_core::{Base, Buf, Connection, NumParticipantsAtMost, make_stack, select};
use bertha_datapath_kernel::TokioRuntime;
use bertha_negotiation::rendezvous::{MemoryStore, MultiEndpoint, Rendezvous};
use bertha_plot::{Panel, Series, over_time};
use bertha_queues::{Pair, Service, Topic, TopicGroup};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::time::sleep_until;

const GROUPS: u32 = 5;

/// The service in rows and in the drawing, with what the emulator lacks.
const SQS: &str = "SQS (emulator: ElasticMQ; 3.3 ms added to FIFO calls)";

/// Budgets of the latency after the change against the latency before: over a service that keeps the order at no cost, and over FIFO
/// queues, where the thesis has it rise.
const SAME: Budget = Budget::Between(0.8, 1.25);
const RISES: Budget = Budget::Between(1.3, 4.0);

/// An arrived message.
#[derive(Clone, Copy)]
struct Arrival {
    /// Time of sending, in seconds from the start.
    sent: f64,
    latency_ms: f64,
}

/// The fate of the messages.
struct Course {
    arrivals: Vec<Arrival>,
    /// Times at which the second receiver began to join, and had joined, in seconds.
    joins: f64,
    joined: f64,
}

pub(super) fn measure(
    report: &mut Report,
    runtime: &Runtime,
    places: &Places,
    effort: Effort,
) -> Result<(), Error> {
    let (half, pause) = effort.pick((100, 25), (100, 10));
    let pause = Duration::from_millis(pause);
    match runtime.block_on(places.nats())? {
        Some(site) => {
            let course = runtime.block_on(in_time(play(site.service.ordered_by_key(8), half, pause)))?;
            describe(report, site.name, "pubsub-switch-nats.svg", &course, SAME)?;
        }
        None => report.skip("the order moves to NATS", "BERTHA_NATS is not set"),
    }
    match places.sqs() {
        Some(site) => {
            let fifo = Slowed::new(site.service.clone().fifo(), FIFO_CALL);
            let course = runtime.block_on(in_time(play(Pair::new(site.service, fifo), half, pause)))?;
            describe(report, SQS, "pubsub-switch-sqs.svg", &course, RISES)?;
        }
        None => report.skip("the order moves to SQS", "BERTHA_ELASTICMQ is not set"),
    }
    Ok(())
}

fn describe(
    report: &mut Report,
    name: &str,
    file: &str,
    course: &Course,
    change: Budget,
) -> Result<(), Error> {
    let of = |is_of: &dyn Fn(f64) -> bool| {
        let chosen = course.arrivals.iter().filter(|it| is_of(it.sent)).map(|it| it.latency_ms);
        chosen.collect::<Vec<f64>>()
    };
    let before = of(&|sent| sent < course.joins);
    let during = of(&|sent| (course.joins..course.joined).contains(&sent));
    let after = of(&|sent| sent >= course.joined);
    let longest = during.iter().copied().fold(0.0, f64::max);
    let middle = |latencies: &[f64]| median(latencies).unwrap_or(f64::NAN);
    let row = |what| format!("{name}, a second receiver joins: {what}");
    report.figure(row("latency before, ordered by the receiver"), middle(&before), "ms");
    report.figure(row("latency after, ordered by the service"), middle(&after), "ms");
    report.bounded(row("latency after to before"), middle(&after) / middle(&before), "x", change);
    report.figure(row("longest latency while it joins"), longest, "ms");
    report.figure(row("time of the change"), (course.joined - course.joins) * 1e3, "ms");
    let line = |label: &str, is_of: &dyn Fn(f64) -> bool| Series {
        label: label.into(),
        points: course
            .arrivals
            .iter()
            .filter(|it| is_of(it.sent))
            .map(|it| (it.sent, it.latency_ms))
            .collect(),
    };
    let panel = Panel {
        name: "Latency (ms)",
        series: vec![
            line("the receiver keeps the order", &|sent| sent < course.joins),
            line("a second one joins", &|sent| (course.joins..course.joined).contains(&sent)),
            line("the service keeps the order", &|sent| sent >= course.joined),
        ],
        mark: None,
    };
    report.draw(file, over_time(&format!("Latency of each message: {name}"), &[panel]))
}

/// Returns a receiver that has joined.
async fn join<S: Service>(
    group_of_topic: TopicGroup<S>,
    store: &MemoryStore<TokioRuntime>,
    name: &str,
) -> Result<MultiEndpoint<impl Connection<Data = Buf> + use<S>>, Error> {
    let stack = make_stack!(
        select!(OrderedByKey::new(group), ServiceOrdered::new(group); prefer 0 if NumParticipantsAtMost(2))
    );
    stack.rendezvous(group_of_topic, store.clone(), name).await.map_err(failed)
}

/// Sends the first half to a single receiver, and the second half while and after another receiver joins.
async fn play<S: Service>(service: S, half: u32, pause: Duration) -> Result<Course, Error> {
    let topic = Topic::new(service, unused("switch")).acknowledge_by_dropping();
    topic.create().await.map_err(failed)?;
    let store = MemoryStore::new(TokioRuntime);
    let group = topic.group("bench");
    let name = topic.name();
    let publisher = join(group.clone().publisher(), &store, name).await?;
    let first = join(group.clone().receiver(), &store, name).await?;

    let start = Instant::now();
    let sent = RefCell::new(vec![None; 2 * half as usize]);
    // A message that arrives again counts once.
    let arrivals = RefCell::new(BTreeMap::new());
    let joins = Cell::new(f64::NAN);
    let joined = Cell::new(f64::NAN);
    let since = || start.elapsed().as_secs_f64();
    let sending = async {
        for number in 0..2 * half {
            sleep_until((start + pause * number).into()).await;
            sent.borrow_mut()[number as usize] = Some(since());
            let message = message(number % GROUPS, number, MESSAGE);
            let mut buffer = publisher.base().buffer(message.len()).map_err(failed)?;
            buffer.copy_from_slice(&message);
            publisher.send(buffer).await.map_err(failed)?;
        }
        Ok::<_, Error>(())
    };
    let note = |message: &Buf| {
        let number = number(message)?;
        let sent = sent.borrow().get(number as usize).copied().flatten();
        let sent = sent.ok_or_else(|| Error::new(ErrorKind::Codec, "a message came before it was sent"))?;
        let arrival = Arrival { sent, latency_ms: (since() - sent) * 1e3 };
        arrivals.borrow_mut().entry(number).or_insert(arrival);
        Ok::<_, Error>(())
    };
    let second_joins_and_receives = async {
        sleep_until((start + pause * half).into()).await;
        joins.set(since());
        let second = join(group.clone().receiver(), &store, name).await?;
        joined.set(since());
        receive(&second, &note).await
    };
    let all_is_there = async {
        sending.await?;
        while arrivals.borrow().len() < 2 * half as usize {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok::<_, Error>(())
    };
    tokio::select! {
        outcome = all_is_there => outcome?,
        outcome = receive(&first, &note) => outcome?,
        outcome = second_joins_and_receives => outcome?,
    }
    // The map is in the order in which the messages were sent.
    let arrivals = arrivals.into_inner().into_values().collect();
    topic.delete().await.map_err(failed)?;
    Ok(Course { arrivals, joins: joins.get(), joined: joined.get() })
}

/// Records all messages, until the connection fails.
async fn receive(
    connection: &impl Connection<Data = Buf>,
    note: impl Fn(&Buf) -> Result<(), Error>,
) -> Result<(), Error> {
    loop {
        note(&connection.recv().await.map_err(failed)?)?;
    }
}
