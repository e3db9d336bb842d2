//! Messages per second through Kafka and NATS, in bursts.

use super::by_hand::{KafkaProducer, KafkaReceiver, NatsPublisher, NatsReceiver};
use super::counted::Count;
use super::exchange::{ReceivesBursts, SendsBursts, message};
use super::ours::{Publishing, Receiving};
use super::place::{KAFKA, NATS, Places};
use super::{failed, unused};
use crate::Error;
use crate::harness::{Effort, alternate, in_time};
use crate::report::{Budget, Report};
use bertha_queues::{Service, Topic};
use futures_util::future::try_join;
use std::time::Instant;
use tokio::runtime::Runtime;

/// Budget of the ratio to the client by hand.
const BUDGET: Budget = Budget::AtLeast(0.95);

/// Number of messages in a call.
const BURST: usize = 250;

/// Messages of a fixed length.
#[derive(Clone, Copy)]
struct Load {
    bursts: usize,
    length: usize,
}

pub(super) fn measure(
    report: &mut Report,
    runtime: &Runtime,
    places: &Places,
    effort: Effort,
) -> Result<(), Error> {
    let loads = [(100, effort.pick(200, 20)), (10_000, effort.pick(40, 4))];
    for (length, bursts) in loads {
        let mut study = Study { report, runtime, load: Load { bursts, length }, pairs: effort.pairs() };
        match runtime.block_on(places.nats())? {
            Some(site) => study.of(NATS, site.service, async |topic| {
                let sender = NatsPublisher::open(&site.address, topic, Count::default()).await?;
                Ok((sender, NatsReceiver::open(&site.address, topic, Count::default()).await?))
            })?,
            None => study.report.skip(&format!("{NATS}, throughput"), "BERTHA_NATS is not set"),
        }
        match runtime.block_on(places.kafka())? {
            Some(site) => study.of(KAFKA, site.service, async |topic| {
                let sender = KafkaProducer::open(&site.address, topic, false, Count::default())?;
                Ok((sender, KafkaReceiver::open(&site.address, topic, Count::default())?))
            })?,
            None => study.report.skip(&format!("{KAFKA}, throughput"), "BERTHA_KAFKA is not set"),
        }
    }
    Ok(())
}

struct Study<'a> {
    report: &'a mut Report,
    runtime: &'a Runtime,
    load: Load,
    pairs: usize,
}

impl Study<'_> {
    /// Opens a topic for each contender, and measures them in turn.
    fn of<S: Service + Clone, P: SendsBursts, R: ReceivesBursts>(
        &mut self,
        name: &str,
        service: S,
        by_hand: impl AsyncFnOnce(&str) -> Result<(P, R), Error>,
    ) -> Result<(), Error> {
        let topic = Topic::new(service.clone(), unused("ours")).acknowledge_by_dropping();
        let other = Topic::new(service, unused("by-hand")).acknowledge_by_dropping();
        let runtime = self.runtime;
        let load = self.load;
        let (sender, mut receiver, (hand_sender, mut hand_receiver)) = runtime.block_on(async {
            topic.create().await.map_err(failed)?;
            other.create().await.map_err(failed)?;
            let receiver = Receiving::new(topic.receiver("bench").await.map_err(failed)?);
            let sender = Publishing(topic.publisher().await.map_err(failed)?);
            Ok::<_, Error>((sender, receiver, by_hand(other.name()).await?))
        })?;
        let mut hand = || runtime.block_on(rate(&hand_sender, &mut hand_receiver, load));
        let mut ours = || runtime.block_on(rate(&sender, &mut receiver, load));
        let paired = alternate(self.pairs, &mut hand, &mut ours)?;
        let name = format!("{name}, {} bytes: throughput", load.length);
        self.report.median(name.clone(), &paired.b(), |rate| *rate, "messages/s");
        let ratio = format!("{name}, Bertha to the client by hand");
        self.report.compare(&ratio, &paired, |rate| *rate, Some(BUDGET));
        runtime.block_on(async {
            topic.delete().await.map_err(failed)?;
            other.delete().await.map_err(failed)
        })
    }
}

/// Returns the messages per second from the first sent message to the last received message.
async fn rate(
    sender: &impl SendsBursts,
    receiver: &mut impl ReceivesBursts,
    load: Load,
) -> Result<f64, Error> {
    let messages = load.bursts * BURST;
    let burst: Vec<Vec<u8>> = (0..BURST).map(|number| message(0, number as u32, load.length)).collect();
    let start = Instant::now();
    let sending = async {
        for _ in 0..load.bursts {
            sender.send_all(burst.clone()).await?;
        }
        Ok(())
    };
    let receiving = async {
        let mut received = 0;
        while received < messages {
            received += receiver.take(BURST).await?;
        }
        Ok(())
    };
    in_time(try_join(sending, receiving)).await?;
    Ok(messages as f64 / start.elapsed().as_secs_f64())
}
