//! One participant: publishes on command, and prints its history.

use crate::history::{Line, What, now};
use crate::order::Order;
use bertha_chunnels::{Postcard, ReceiverOrdered, SequencerOrdered, Serialize};
use bertha_core::{Connection, Error, NumParticipantsAtMost, Role, make_stack, select};
use bertha_datapath_kernel::UdpMulticast;
use bertha_negotiation::{Agreement, Pick};
use bertha_rendezvous::{MultiEndpoint, Name, Rendezvous, RendezvousSettings, RendezvousStore};
use serde::Deserialize;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, BufReader, Lines, Stdin};
use tokio::time::{MissedTickBehavior, interval};

/// A published message.
#[derive(Debug, Clone, serde::Serialize, Deserialize)]
pub(crate) struct Message {
    publisher: u32,
    number: u32,
    /// When it was sent, on the host's monotonic clock.
    sent: u64,
}

/// A participant and its topic.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Part {
    /// The number of this participant; each needs its own.
    #[arg(long)]
    pub(crate) id: u32,
    /// The topic.
    #[arg(long, default_value = "topic")]
    pub(crate) topic: Name,
    /// The multicast group and port.
    #[arg(long, default_value = "239.255.77.1:7701")]
    pub(crate) group: SocketAddrV4,
    /// The address of the network interface.
    #[arg(long, default_value_t = Ipv4Addr::LOCALHOST)]
    pub(crate) interface: Ipv4Addr,
    /// Up to how many participants receivers put messages in order; beyond, one participant does it for all.
    #[arg(long, default_value_t = 2)]
    pub(crate) at_most: usize,
    /// How long a participant counts as there after the store last heard of it, in milliseconds.
    #[arg(long, default_value_t = 2000)]
    pub(crate) lease: u64,
}

/// Takes part until the standard input ends, and carries out the commands there.
pub(crate) async fn take_part(part: Part, store: impl RendezvousStore) -> Result<(), Error> {
    let mut settings = RendezvousSettings::default();
    settings.lease = Duration::from_millis(part.lease);
    settings.staging_timeout = 3 * settings.lease;
    let stack = make_stack!(
        Serialize::<Message, Postcard>::new(),
        select!(
            ReceiverOrdered::new(),
            SequencerOrdered::new();
            prefer 0 if NumParticipantsAtMost(part.at_most)
        )
    );
    let group = UdpMulticast::new(part.group).interface(part.interface);
    let connection = stack.rendezvous(group, store, part.topic).settings(settings).await?;
    let agreement = connection.explain();
    let (stack, leads) = (names(&agreement), leads(&agreement));
    let joined = What::Joined { round: agreement.round(), stack, leads };
    Line::new(part.id, joined).print()?;
    let mut commands = BufReader::new(tokio::io::stdin()).lines();
    let ended = tokio::select! {
        ended = obey(part.id, &connection, &mut commands) => ended,
        ended = receive(part.id, &connection) => ended,
        ended = follow(part.id, &connection, agreement) => ended,
        ended = count(part.id, &connection) => ended,
    };
    ended?;
    connection.close().await?;
    Line::new(part.id, What::Left).print()
}

/// The Chunnels in use.
fn names(agreement: &Agreement) -> String {
    let names = agreement.chunnels().map(|name| name.rsplit("::").next().unwrap_or(name));
    names.collect::<Vec<_>>().join(" / ")
}

/// Whether this participant leads the round.
fn leads(agreement: &Agreement) -> bool {
    agreement.role() == Role::Participant { leads: true }
}

/// Carries out the commands of the standard input, until there are no more. A mistyped one is refused.
async fn obey<C>(
    id: u32,
    connection: &MultiEndpoint<C>,
    lines: &mut Lines<BufReader<Stdin>>,
) -> Result<(), Error>
where
    C: Connection<Data = Message>,
{
    let mut next = 0;
    while let Some(line) = lines.next_line().await? {
        match Order::parse(&line) {
            Ok(Some(Order::Publish { count, pause })) => {
                publish(id, connection, &mut next, count, pause).await?;
            }
            Ok(Some(Order::Upgrade { alternative })) => {
                if let Err(error) = connection.upgrade(Pick::alternative(alternative)).await {
                    Line::new(id, What::Refused { reason: error.to_string() }).print()?;
                }
            }
            Ok(Some(Order::Leave)) => return Ok(()),
            Ok(None) => {}
            Err(mistyped) => Line::new(id, What::Refused { reason: mistyped.to_string() }).print()?,
        }
    }
    Ok(())
}

/// Publishes `count` messages with a pause before each.
async fn publish<C>(
    id: u32,
    connection: &MultiEndpoint<C>,
    next: &mut u32,
    count: u64,
    pause: Duration,
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
        Line::new(id, What::Sending { number }).print()?;
        let sent = connection.send(Message { publisher: id, number, sent: now() }).await;
        let error = sent.err().map(|error| error.to_string());
        Line::new(id, What::Sent { number, error }).print()?;
    }
    Ok(())
}

async fn receive<C>(id: u32, connection: &MultiEndpoint<C>) -> Result<(), Error>
where
    C: Connection<Data = Message>,
{
    loop {
        let Message { publisher, number, sent } = connection.recv().await?;
        Line::new(id, What::Received { publisher, number, sent }).print()?;
    }
}

async fn follow<C: Connection>(
    id: u32,
    connection: &MultiEndpoint<C>,
    mut agreement: Arc<Agreement>,
) -> Result<(), Error> {
    loop {
        agreement = connection.changed(&agreement).await?;
        let (stack, leads) = (names(&agreement), leads(&agreement));
        let changed = What::Changed { round: agreement.round(), stack, leads };
        Line::new(id, changed).print()?;
    }
}

async fn count<C: Connection>(id: u32, connection: &MultiEndpoint<C>) -> Result<(), Error> {
    let mut count = 0;
    loop {
        count = connection.participants_other_than(count).await?;
        Line::new(id, What::Participants { count }).print()?;
    }
}
