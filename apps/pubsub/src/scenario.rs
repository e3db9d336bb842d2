//! Two participants, and a third that joins while messages flow.

use crate::history::{Line, What};
use crate::participant::{Part, Use};
use crate::process::{Process, failed};
use crate::topic;
use bertha_core::{Error, ErrorKind};
use bertha_negotiation::rendezvous::Name;
use bertha_program::Termination;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Time to wait for an event.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The options of a scenario.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Scenario {
    /// Address of the store: redis://host:port or etcd://host:port[,host:port...]; rediss:// and etcds:// for
    /// TLS, with a login as user@ and files as ?ca=FILE&cert=FILE&key=FILE&password_file=FILE. Not with
    /// --service memory:.
    #[arg(long, value_name = "URL", required_unless_present = "service")]
    store: Option<String>,
    /// The topic, an unused name. Over a service the run creates it, and deletes it at the end, also when it
    /// fails or is interrupted.
    #[arg(long, value_name = "NAME", default_value_t = format!("pubsub-{}", std::process::id()))]
    topic: String,
    /// The messaging service of the topic, instead of UDP multicast; see `join`. A single participant
    /// publishes, and the others share the messages. With memory: all are in this process.
    #[arg(long, value_name = "URL")]
    service: Option<String>,
    /// Over a service: without any order, which redis:// and azure:// ask for.
    #[arg(long)]
    unordered: bool,
    /// Over a service: the groups of messages, each of which stays in order.
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..))]
    groups: u8,
    /// The multicast group and port.
    #[arg(long, value_name = "ADDRESS", default_value = "239.255.77.1:7701")]
    group: SocketAddrV4,
    /// Number of participants in the end.
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u32).range(2..))]
    participants: u32,
    /// Number of messages that each publishes before the last participant joins, and as many after that.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    messages: u32,
    /// The pause between messages, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 25)]
    interval: u64,
}

impl Scenario {
    /// Returns true if each message reaches a single receiver.
    pub(crate) fn is_shared(&self) -> bool {
        self.service.is_some()
    }

    /// Returns true if the messages of a publisher and group stay in order.
    pub(crate) fn is_ordered(&self) -> bool {
        !self.unordered
    }

    fn part(&self, id: u32) -> Result<Part, Error> {
        let purpose = match self.is_shared() {
            true if id == 1 => Use::Publish,
            true => Use::Receive,
            false => Use::Both,
        };
        let topic = Name::new(self.topic.clone())?;
        let Self { service, unordered, groups, group, .. } = self.clone();
        Ok(Part {
            id,
            topic,
            service,
            purpose,
            groups,
            unordered,
            group,
            interface: Ipv4Addr::LOCALHOST,
            at_most: 2,
            lease: 2000,
        })
    }

    async fn start(&self, id: u32) -> Result<Process, Error> {
        let part = self.part(id)?;
        let mut process = match (&self.service, &self.store) {
            (Some(service), _) if service.starts_with("memory") => Process::within(part),
            (_, Some(store)) => Process::start(&part, store)?,
            (_, None) => {
                let what = "participants agree through a store: add --store redis://host:port";
                return Err(Error::new(ErrorKind::Invalid, what));
            }
        };
        process.until("joined", TIMEOUT, |what| matches!(what, What::Joined { .. })).await?;
        Ok(process)
    }

    /// Returns the participants that publish.
    fn publishers<'a>(&self, processes: &'a mut [Process]) -> &'a mut [Process] {
        if self.is_shared() { &mut processes[..1] } else { processes }
    }
}

/// Plays the scenario, unless the program has to end before. Returns all events, in the order of time. Leaves
/// no topic behind.
///
/// # Errors
/// Fails if a process does not start or does not do its part in time, if the service has the topic already,
/// and when a signal comes.
pub(crate) async fn play(scenario: &Scenario, termination: &Termination) -> Result<Vec<Line>, Error> {
    let Some(service) = &scenario.service else { return termination.work(perform(scenario)).await };
    let topic = &scenario.topic;
    let is_ordered = scenario.is_ordered();
    let creating = timeout(TIMEOUT, topic::create(topic, service, is_ordered));
    creating.await.map_err(|_| failed(format!("{service} has not created the topic in time")))??;
    // The participants have ended when the future is dropped.
    let played = termination.work(perform(scenario)).await;
    let deleting = timeout(TIMEOUT, topic::delete(topic, service, is_ordered));
    let deleted =
        deleting.await.unwrap_or_else(|_| Err(failed(format!("{service} has not deleted {topic} in time"))));
    // The first error is returned, if both fail.
    played.and_then(|lines| deleted.map(|()| lines))
}

async fn perform(scenario: &Scenario) -> Result<Vec<Line>, Error> {
    let all = scenario.participants;
    let first = scenario.messages;
    let publish = format!("publish {first} {}", scenario.interval);
    let mut processes = Vec::new();
    for id in 1..all {
        processes.push(scenario.start(id).await?);
    }
    let there = all as usize - 1;
    for process in &mut processes {
        let has_seen_all = |what: &What| matches!(what, What::Participants { count } if *count == there);
        process.until("seen all", TIMEOUT, has_seen_all).await?;
    }
    let publishing = TIMEOUT + Duration::from_millis(scenario.interval) * first;
    for process in scenario.publishers(&mut processes) {
        process.tell(&publish).await?;
    }
    for process in scenario.publishers(&mut processes) {
        process.until("published", publishing, |what| is_sent(what, first)).await?;
        // The messages begin before the last participant is there, so that they flow while it joins.
        process.tell(&publish).await?;
    }
    let last = scenario.start(all).await?;
    for process in scenario.publishers(&mut processes) {
        process.until("published", publishing, |what| is_sent(what, 2 * first)).await?;
    }
    processes.push(last);
    match scenario.is_shared() {
        true => wait_for_all(&mut processes).await?,
        // Messages on their way arrive meanwhile.
        false => tokio::time::sleep(Duration::from_secs(1)).await,
    }
    let mut lines = Vec::new();
    for process in processes {
        lines.extend(process.leave(TIMEOUT).await?);
    }
    lines.sort_by_key(|line| line.at);
    Ok(lines)
}

fn is_sent(what: &What, messages: u32) -> bool {
    matches!(what, What::Sent { number, .. } if *number + 1 == messages)
}

/// Waits until every sent message has reached some participant.
async fn wait_for_all(processes: &mut [Process]) -> Result<(), Error> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let mut sent = BTreeSet::new();
        let mut received = BTreeSet::new();
        for process in &mut *processes {
            process.read_for(Duration::from_millis(50)).await;
            for line in process.lines() {
                match line.what {
                    What::Sent { number, error: None } => drop(sent.insert((line.participant, number))),
                    What::Received { publisher, number, .. } => drop(received.insert((publisher, number))),
                    _ => {}
                }
            }
        }
        let missing = sent.difference(&received).count();
        if missing == 0 {
            return Ok(());
        }
        if Instant::now() > deadline {
            return Err(failed(format!("{missing} of {} messages have reached nobody in time", sent.len())));
        }
    }
}
