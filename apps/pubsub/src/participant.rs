//! A participant, which publishes on command, and reports its history.

use crate::commands::Commands;
use crate::history::{What, now};
use crate::journal::Journal;
use crate::order::Order;
use crate::store::Store;
use bertha_core::{Connection, Error, Role};
use bertha_negotiation::rendezvous::{MultiEndpoint, Name, Rendezvous, RendezvousSettings, RunsAmong};
use bertha_negotiation::{Agreement, Pick};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufRead, Lines};
use tokio::time::{MissedTickBehavior, interval};

/// A published message.
#[derive(Debug, Clone, serde::Serialize, Deserialize)]
pub(crate) struct Message {
    /// Group of the message. The messages of a publisher and group stay in order. The first byte of the
    /// encoding.
    group: u8,
    /// The publisher. It follows the group in the encoding, as a byte or several.
    publisher: u32,
    number: u32,
    /// Time of sending, on the host's monotonic clock.
    sent: u64,
}

impl Message {
    /// Returns the part of an encoded message by which it is kept in order: the group, and the publisher.
    /// Publishers with numbers above 127 share their keys.
    pub(crate) fn key(encoded: &[u8]) -> &[u8] {
        &encoded[..encoded.len().min(2)]
    }
}

/// The use that a participant makes of a service's topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Use {
    /// It publishes.
    Publish,
    /// It receives, and shares the messages with the other receivers.
    Receive,
    /// It publishes and receives.
    Both,
}

/// A participant and its topic.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Part {
    /// Number of this participant; each participant needs its own.
    #[arg(long, value_name = "ID")]
    pub(crate) id: u32,
    /// The topic.
    #[arg(long, value_name = "NAME", default_value = "topic")]
    pub(crate) topic: Name,
    /// The messaging service of the topic, instead of UDP multicast: nats://host:port,
    /// kafka://host:port[,host:port...], redis://host:port, sqs://, pubsub://, azure://, or memory: in `run`.
    /// Services without an address, and credentials, are found as by every program with the service's SDK, by
    /// the environment; for Kafka in a file with librdkafka's settings, ?config=FILE.
    #[arg(long, value_name = "URL")]
    pub(crate) service: Option<String>,
    /// The use of the service's topic.
    #[arg(long = "use", value_enum, default_value = "both")]
    pub(crate) purpose: Use,
    /// Number of groups to which each publisher's messages belong in turn, each of which stays in order.
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u8).range(1..))]
    pub(crate) groups: u8,
    /// Over a service: without any order, which redis:// and azure:// ask for if several participants
    /// receive.
    #[arg(long)]
    pub(crate) unordered: bool,
    /// The multicast group and port.
    #[arg(long, value_name = "ADDRESS", default_value = "239.255.77.1:7701")]
    pub(crate) group: SocketAddrV4,
    /// The address of the network interface.
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::LOCALHOST)]
    pub(crate) interface: Ipv4Addr,
    /// Number of participants up to which receivers put messages in order; beyond, a single participant or
    /// the service does it for all.
    #[arg(long, value_name = "COUNT", default_value_t = 2)]
    pub(crate) at_most: usize,
    /// Time for which a participant counts as present after the store last heard of it, in milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 2000)]
    pub(crate) lease: u64,
}

impl Part {
    fn settings(&self) -> RendezvousSettings {
        let lease = Duration::from_millis(self.lease);
        RendezvousSettings::default().lease(lease).staging_timeout(3 * lease).join_timeout(10 * lease)
    }

    fn sends(&self) -> bool {
        self.purpose != Use::Receive
    }

    fn receives(&self) -> bool {
        self.purpose != Use::Publish
    }
}

/// Takes part over a group, with a stack, until the commands end or a signal comes, and carries them out.
pub(crate) async fn over<S, G>(
    stack: S,
    group: G,
    part: Part,
    store: Store,
    mut commands: Commands<impl AsyncBufRead + Send + Unpin>,
    journal: Journal,
) -> Result<(), Error>
where
    S: Rendezvous + 'static,
    G: RunsAmong<S, Out: Connection<Data = Message>>,
{
    let joining = stack.rendezvous(group, store, &part.topic).settings(part.settings());
    let connection = commands.before_signal(joining.into_future()).await?;
    let agreement = connection.explain();
    let stack = names(&agreement);
    let leads = leads(&agreement);
    journal.note(part.id, What::Joined { round: agreement.round(), stack, leads })?;
    let signal = commands.signal();
    let ended = tokio::select! {
        ended = obey(&part, &connection, &mut commands.lines, &journal) => ended,
        () = signal => Ok(()),
        ended = receive(part.id, &connection, &journal), if part.receives() => ended,
        ended = follow(part.id, &connection, agreement, &journal) => ended,
        ended = count(part.id, &connection, &journal) => ended,
    };
    ended?;
    connection.close().await?;
    journal.note(part.id, What::Left)
}

/// Returns the Chunnels in use.
fn names(agreement: &Agreement) -> String {
    let names = agreement.chunnels().map(|name| name.rsplit("::").next().unwrap_or(name));
    names.collect::<Vec<_>>().join(" / ")
}

/// Returns true if this participant leads the round.
fn leads(agreement: &Agreement) -> bool {
    agreement.role() == Role::Participant { leads: true }
}

/// Carries out the commands, until there are no more. A mistyped command is refused.
async fn obey<C>(
    part: &Part,
    connection: &MultiEndpoint<C>,
    lines: &mut Lines<impl AsyncBufRead + Unpin>,
    journal: &Journal,
) -> Result<(), Error>
where
    C: Connection<Data = Message>,
{
    let id = part.id;
    let mut next = 0;
    while let Some(line) = lines.next_line().await? {
        match Order::parse(&line) {
            Ok(Some(Order::Publish { .. })) if !part.sends() => {
                let reason = "this participant only receives; start it with --use publish or both";
                journal.note(id, What::Refused { reason: reason.into() })?;
            }
            Ok(Some(Order::Publish { count, pause })) => {
                publish(part, connection, &mut next, count, pause, journal).await?;
            }
            Ok(Some(Order::Upgrade { alternative })) => {
                if let Err(error) = connection.upgrade(Pick::alternative(alternative)).await {
                    journal.note(id, What::Refused { reason: error.to_string() })?;
                }
            }
            Ok(Some(Order::Leave)) => return Ok(()),
            Ok(None) => {}
            Err(mistyped) => journal.note(id, What::Refused { reason: mistyped.to_string() })?,
        }
    }
    Ok(())
}

/// Publishes `count` messages with a pause before each.
async fn publish<C>(
    part: &Part,
    connection: &MultiEndpoint<C>,
    next: &mut u32,
    count: u64,
    pause: Duration,
    journal: &Journal,
) -> Result<(), Error>
where
    C: Connection<Data = Message>,
{
    let mut ticks = interval(pause.max(Duration::from_nanos(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for _ in 0..count {
        if !pause.is_zero() {
            ticks.tick().await;
        }
        let number = *next;
        *next += 1;
        journal.note(part.id, What::Sending { number })?;
        // The remainder is less than a number of eight bits.
        let group = (number % u32::from(part.groups)) as u8;
        let sent = connection.send(Message { group, publisher: part.id, number, sent: now() }).await;
        let error = sent.err().map(|error| error.to_string());
        journal.note(part.id, What::Sent { number, error })?;
    }
    Ok(())
}

async fn receive<C>(id: u32, connection: &MultiEndpoint<C>, journal: &Journal) -> Result<(), Error>
where
    C: Connection<Data = Message>,
{
    loop {
        let Message { group, publisher, number, sent } = connection.recv().await?;
        journal.note(id, What::Received { publisher, number, group, sent })?;
    }
}

async fn follow<C: Connection>(
    id: u32,
    connection: &MultiEndpoint<C>,
    mut agreement: Arc<Agreement>,
    journal: &Journal,
) -> Result<(), Error> {
    loop {
        agreement = connection.changed(&agreement).await?;
        let stack = names(&agreement);
        let leads = leads(&agreement);
        journal.note(id, What::Changed { round: agreement.round(), stack, leads })?;
    }
}

async fn count<C: Connection>(
    id: u32,
    connection: &MultiEndpoint<C>,
    journal: &Journal,
) -> Result<(), Error> {
    let mut count = 0;
    loop {
        count = connection.participants_other_than(count).await?;
        journal.note(id, What::Participants { count })?;
    }
}
