//! Latencies of each service with each order (thesis, Figure 3.6).

use super::by_hand::{
    AzurePublisher, AzureReceiver, KafkaProducer, KafkaReceiver, NatsPublisher, NatsReceiver,
    PubSubPublisher, PubSubReceiver, RedisPublisher, RedisReceiver, SqsPublisher, SqsReceiver,
};
use super::counted::{Count, Counted};
use super::exchange::{Plan, Receives, Sends, group, latencies};
use super::ours::{Publishing, Receiving};
use super::place::{AZURE, KAFKA, NATS, PUBSUB, Places, REDIS, SQS, Site};
use super::{failed, unused};
use crate::Error;
use crate::harness::{Effort, alternate, median};
use crate::report::{Budget, Report};
use bertha_chunnels::{AtMostOnceByPublisher, OrderedByKey, ServiceOrdered};
use bertha_core::{Supports, Wrap, make_stack};
use bertha_plot::{Spread, spreads};
use bertha_queues::{QueueConnection, Service, Topic};
use std::cell::RefCell;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Budget of the ratio to the client by hand.
const BUDGET: Budget = Budget::AtMost(1.05);

/// Number of groups in the case with many, and number of partitions if a service divides a topic.
const MANY: u32 = 8;

/// A stack over a topic.
#[derive(Clone, Copy, PartialEq)]
enum Case {
    /// Messages as the service delivers them: at least once, in no order.
    BestEffort,
    /// Messages as the service delivers them, without repetitions.
    AtMostOnce,
    /// Messages in order within this number of groups, by the service.
    ByService(u32),
    /// Messages in order within this number of groups, by the single receiver.
    ByReceiver(u32),
}

const ALL: [Case; 6] = [
    Case::BestEffort,
    Case::AtMostOnce,
    Case::ByService(1),
    Case::ByService(5),
    Case::ByService(MANY),
    Case::ByReceiver(5),
];

/// The cases of a service that keeps no order.
const UNORDERED: [Case; 5] =
    [Case::BestEffort, Case::AtMostOnce, Case::ByReceiver(1), Case::ByReceiver(5), Case::ByReceiver(MANY)];

/// The cases of a service that always keeps an order.
const ORDERED: [Case; 5] =
    [Case::BestEffort, Case::AtMostOnce, Case::ByService(1), Case::ByService(5), Case::ByService(MANY)];

impl Case {
    fn name(self) -> String {
        match self {
            Self::BestEffort => "best effort".into(),
            Self::AtMostOnce => "at most once".into(),
            Self::ByService(groups) => format!("ordered:{groups}"),
            Self::ByReceiver(groups) => format!("ordered:{groups} by the receiver"),
        }
    }

    fn groups(self) -> u32 {
        match self {
            Self::ByService(groups) | Self::ByReceiver(groups) => groups,
            _ => 1,
        }
    }

    fn is_by_service(self) -> bool {
        matches!(self, Self::ByService(_))
    }
}

/// The measurements, and the report and figures for them.
struct Study<'a> {
    report: &'a mut Report,
    runtime: &'a Runtime,
    plan: Plan,
    pairs: usize,
    /// The latencies of a service, a box for each case.
    boxes: Vec<Spread>,
}

/// The outcome of a run.
#[derive(Clone, Copy)]
struct Sample {
    median_us: f64,
    /// Number of calls, without looks into an empty queue.
    calls: f64,
    empty_looks: f64,
}

pub(super) fn measure(
    report: &mut Report,
    runtime: &Runtime,
    places: &Places,
    effort: Effort,
) -> Result<(), Error> {
    let (messages, pause) = effort.pick((100, 75), (20, 5));
    let plan = Plan { messages, pause: Duration::from_millis(pause), groups: 1, overlaps: false };
    let mut study = Study { report, runtime, plan, pairs: effort.pick(7, 3), boxes: Vec::new() };
    match runtime.block_on(places.nats())? {
        Some(site) => ALL.into_iter().try_for_each(|case| study.nats(&site, case))?,
        None => study.report.skip(NATS, "BERTHA_NATS is not set"),
    }
    study.draw(NATS, "nats")?;
    match runtime.block_on(places.kafka())? {
        Some(site) => ORDERED.into_iter().try_for_each(|case| study.kafka(&site, case))?,
        None => study.report.skip(KAFKA, "BERTHA_KAFKA is not set"),
    }
    study.draw(KAFKA, "kafka")?;
    match runtime.block_on(places.redis())? {
        Some(site) => UNORDERED.into_iter().try_for_each(|case| study.redis(&site, case))?,
        None => study.report.skip(REDIS, "BERTHA_REDIS is not set"),
    }
    study.draw(REDIS, "redis")?;
    match places.sqs() {
        Some(site) => ALL.into_iter().try_for_each(|case| study.sqs(&site, case))?,
        None => study.report.skip(SQS, "BERTHA_ELASTICMQ is not set"),
    }
    study.draw(SQS, "sqs")?;
    match places.pubsub()? {
        Some(site) => ALL.into_iter().try_for_each(|case| study.pubsub(&site, case))?,
        None => study.report.skip(PUBSUB, "BERTHA_PUBSUB is not set"),
    }
    study.draw(PUBSUB, "pubsub")?;
    match places.azure()? {
        Some(site) => UNORDERED.into_iter().try_for_each(|case| study.azure(&site, case))?,
        None => study.report.skip(AZURE, "BERTHA_AZURE_QUEUE is not set"),
    }
    study.draw(AZURE, "azure")
}

impl Study<'_> {
    fn nats(&mut self, site: &Site<bertha_queues::nats::Nats>, case: Case) -> Result<(), Error> {
        let service = site.service.clone();
        let service = if case.is_by_service() { service.ordered_by_key(MANY as usize) } else { service };
        let by_hand = async |topic: &str, count: &Count| {
            let sender = NatsPublisher::open(&site.address, topic, count.clone()).await?;
            Ok((sender, NatsReceiver::open(&site.address, topic, count.clone()).await?))
        };
        self.case(site.name, service, case, by_hand)
    }

    fn kafka(&mut self, site: &Site<bertha_queues::kafka::Kafka>, case: Case) -> Result<(), Error> {
        let by_hand = async |topic: &str, count: &Count| {
            let sender = KafkaProducer::open(&site.address, topic, case.is_by_service(), count.clone())?;
            Ok((sender, KafkaReceiver::open(&site.address, topic, count.clone())?))
        };
        self.case(site.name, site.service.clone(), case, by_hand)
    }

    fn redis(&mut self, site: &Site<bertha_queues::redis::RedisStreams>, case: Case) -> Result<(), Error> {
        let by_hand = async |topic: &str, count: &Count| {
            let sender = RedisPublisher::open(&site.address, topic, count.clone()).await?;
            Ok((sender, RedisReceiver::open(&site.address, topic, count.clone()).await?))
        };
        self.case(site.name, site.service.clone(), case, by_hand)
    }

    fn sqs(&mut self, site: &Site<bertha_queues::sqs::Sqs>, case: Case) -> Result<(), Error> {
        let is_fifo = case.is_by_service();
        let service = if is_fifo { site.service.clone().fifo() } else { site.service.clone() };
        let by_hand = async |topic: &str, count: &Count| {
            let sender = SqsPublisher::open(&site.address, topic, is_fifo, count.clone()).await?;
            Ok((sender, SqsReceiver::open(&site.address, topic, is_fifo, count.clone()).await?))
        };
        self.case(site.name, service, case, by_hand)
    }

    fn pubsub(&mut self, site: &Site<bertha_queues::google::PubSub>, case: Case) -> Result<(), Error> {
        let is_ordered = case.is_by_service();
        let service = if is_ordered { site.service.clone().ordered() } else { site.service.clone() };
        let by_hand = async |topic: &str, count: &Count| {
            let sender = PubSubPublisher::open(&site.address, topic, is_ordered, count.clone()).await?;
            Ok((sender, PubSubReceiver::open(&site.address, topic, is_ordered, count.clone()).await?))
        };
        self.case(site.name, service, case, by_hand)
    }

    fn azure(&mut self, site: &Site<bertha_queues::azure::AzureQueue>, case: Case) -> Result<(), Error> {
        let by_hand = async |topic: &str, count: &Count| {
            let sender = AzurePublisher::open(&site.address, topic, count.clone())?;
            Ok((sender, AzureReceiver::open(&site.address, topic, count.clone())?))
        };
        self.case(site.name, site.service.clone(), case, by_hand)
    }

    /// Draws the cases of a service, if it is available.
    fn draw(&mut self, service: &str, file: &str) -> Result<(), Error> {
        let boxes = std::mem::take(&mut self.boxes);
        if boxes.is_empty() {
            return Ok(());
        }
        let title = format!("Latency through {service}");
        self.report.draw(&format!("pubsub-latency-{file}.svg"), spreads(&title, &boxes))
    }

    /// Opens a topic for each contender, and measures them in turn.
    fn case<S: Service + Clone, P: Sends, R: Receives>(
        &mut self,
        name: &str,
        service: S,
        case: Case,
        by_hand: impl AsyncFnOnce(&str, &Count) -> Result<(P, R), Error>,
    ) -> Result<(), Error> {
        let count = Count::default();
        let hand_count = Count::default();
        let topic = unused("ours");
        let other = unused("by-hand");
        let other = Topic::new(service.clone(), other).acknowledge_by_dropping();
        let topic =
            Topic::new(Counted { inner: service, count: count.clone() }, topic).acknowledge_by_dropping();
        let (connections, hand) = self.runtime.block_on(async {
            topic.create().await.map_err(failed)?;
            other.create().await.map_err(failed)?;
            let receiver = topic.receiver("bench").await.map_err(failed)?;
            let connections = (topic.publisher().await.map_err(failed)?, receiver);
            Ok::<_, Error>((connections, by_hand(other.name(), &hand_count).await?))
        })?;
        let name = format!("{name}, {}", case.name());
        let (sender, receiver) = hand;
        let hand = Contender { count: &hand_count, sender, receiver };
        let (publisher, receiver) = connections;
        match case {
            Case::BestEffort => {
                let ours = Contender {
                    count: &count,
                    sender: Publishing(publisher),
                    receiver: Receiving::new(receiver),
                };
                self.compare(&name, case, hand, ours)
            }
            Case::AtMostOnce => {
                let stack = || make_stack!(AtMostOnceByPublisher::new());
                let (sender, receiver) = self.runtime.block_on(wrap(stack, publisher, receiver))?;
                self.compare(&name, case, hand, Contender { count: &count, sender, receiver })
            }
            Case::ByService(_) => {
                let stack = || make_stack!(ServiceOrdered::new(group));
                let (sender, receiver) = self.runtime.block_on(wrap(stack, publisher, receiver))?;
                self.compare(&name, case, hand, Contender { count: &count, sender, receiver })
            }
            Case::ByReceiver(_) => {
                let stack = || make_stack!(OrderedByKey::new(group));
                let (sender, receiver) = self.runtime.block_on(wrap(stack, publisher, receiver))?;
                self.compare(&name, case, hand, Contender { count: &count, sender, receiver })
            }
        }?;
        self.runtime.block_on(async {
            topic.delete().await.map_err(failed)?;
            other.delete().await.map_err(failed)
        })
    }

    fn compare(
        &mut self,
        name: &str,
        case: Case,
        mut hand: Contender<'_, impl Sends, impl Receives>,
        mut ours: Contender<'_, impl Sends, impl Receives>,
    ) -> Result<(), Error> {
        let plan = Plan { groups: case.groups(), ..self.plan };
        let runtime = self.runtime;
        let of_hand = RefCell::default();
        let of_ours = RefCell::default();
        let mut by_hand =
            || runtime.block_on(sample(&hand.sender, &mut hand.receiver, plan, hand.count, &of_hand));
        let mut ours =
            || runtime.block_on(sample(&ours.sender, &mut ours.receiver, plan, ours.count, &of_ours));
        let paired = alternate(self.pairs, &mut by_hand, &mut ours)?;
        self.boxes.extend(Spread::of(&case.name().replace(" by", ", by"), &of_ours.into_inner()));
        self.report.median(format!("{name}: latency"), &paired.b(), |it| it.median_us / 1e3, "ms");
        let ratio = format!("{name}: latency, Bertha to the client by hand");
        self.report.compare(&ratio, &paired, |it| it.median_us, Some(BUDGET));
        let more = |number: fn(&Sample) -> f64| {
            let middle = |samples: Vec<Sample>| median(&samples.iter().map(number).collect::<Vec<_>>());
            middle(paired.b()).zip(middle(paired.a())).map_or(f64::NAN, |(ours, hand)| ours - hand)
        };
        let messages = plan.messages;
        let calls = format!("{name}: calls for {messages} messages, Bertha less by hand");
        self.report.bounded(calls, more(|it| it.calls), "calls", Budget::AtMost(0.0));
        let looks = format!("{name}: looks into an empty queue, Bertha less by hand");
        self.report.figure(looks, more(|it| it.empty_looks), "calls");
        Ok(())
    }
}

async fn sample(
    sender: &impl Sends,
    receiver: &mut impl Receives,
    plan: Plan,
    count: &Count,
    all: &RefCell<Vec<f64>>,
) -> Result<Sample, Error> {
    let calls = count.calls();
    let empty_looks = count.empty_looks();
    let latencies = latencies(sender, receiver, plan).await?;
    let median_us = median(&latencies).unwrap_or(f64::NAN);
    all.borrow_mut().extend(latencies);
    let empty_looks = (count.empty_looks() - empty_looks) as f64;
    let calls = (count.calls() - calls) as f64 - empty_looks;
    Ok(Sample { median_us, calls, empty_looks })
}

/// A client of a topic, and the number of its calls.
struct Contender<'a, S, R> {
    count: &'a Count,
    sender: S,
    receiver: R,
}

/// Wraps both ends in a stack.
async fn wrap<S, K>(
    stack: impl Fn() -> K,
    publisher: QueueConnection<S>,
    receiver: QueueConnection<S>,
) -> Result<(Publishing<Over<S, K>>, Receiving<Over<S, K>>), Error>
where
    S: Service,
    K: Wrap,
    QueueConnection<S>: Supports<K>,
{
    let publisher = stack().wrap(publisher).await.map_err(failed)?;
    Ok((Publishing(publisher), Receiving::new(stack().wrap(receiver).await.map_err(failed)?)))
}

/// The connection of a stack over a topic.
type Over<S, K> = <QueueConnection<S> as Supports<K>>::Out;
