//! A stream of numbers under full load, and its history.

use super::{Message, failed, stack};
use crate::harness::{Placement, meet};
use crate::{Error, ErrorKind};
use bertha_core::{Addr, Connection, Datapath};
use bertha_negotiation::{Incoming, Negotiate, Negotiated, Pick, Runs, Switching, Upgradable};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Largest number of messages in flight: a socket buffer holds them, so that a loss is not the buffer's.
const WINDOW: usize = 512;
/// Number of messages after which the receiver reports its progress.
const EVERY: u64 = 32;
/// The last number.
const END: u64 = u64::MAX;

/// The connection of the measured stack.
type Out<D> = Switching<<D as Runs<super::Layers>>::Out, <D as Datapath>::Connection>;

/// The extent of a measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    /// The number of changes of the stack.
    pub(crate) changes: usize,
    /// The time for which messages flow.
    pub(crate) lasting: Duration,
}

/// The history of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    /// Number of sent messages.
    pub(crate) sent: u64,
    /// Number of messages that did not arrive.
    pub(crate) lost: u64,
    /// Number of messages that arrived again.
    pub(crate) duplicated: u64,
    /// Number of messages that arrived after a later message.
    pub(crate) reordered: u64,
    /// Number of changes that both ends made.
    pub(crate) changes: u64,
    /// Messages per second.
    pub(crate) rate: f64,
    /// The longest time between two messages, in seconds.
    pub(crate) longest_pause: f64,
}

/// Runs streams between two threads over `datapath`, while the sender changes the stack.
///
/// # Errors
/// Errors of the connections and threads; [`ErrorKind::Stalled`] if nothing arrives any more.
pub(crate) fn across_threads<D>(
    datapath: impl Fn() -> D + Send + Sync,
    setup: Setup,
) -> Result<Outcome, Error>
where
    D: Runs<super::Layers> + Runs<Upgradable<super::Layers>, Out = Out<D>>,
    Out<D>: Connection<Data = Message>,
{
    let (tell, told) = tokio::sync::oneshot::channel();
    let (history, received) = tokio::sync::oneshot::channel();
    let (sent, changes) = meet(
        Placement::AcrossCores,
        || async {
            let received = async {
                let incoming = stack().upgradable().listen(datapath(), (Ipv4Addr::LOCALHOST, 0)).await?;
                // A sender that has given up reports an error of its own.
                let _ = tell.send(incoming.local_addr());
                receive(incoming).await
            };
            let _ = history.send(received.await.map_err(failed)?);
            Ok(())
        },
        || async {
            let addr =
                told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the receiver"))?;
            send(datapath(), addr, setup).await.map_err(failed)
        },
    )?;
    let history =
        received.blocking_recv().map_err(Error::while_doing(ErrorKind::Stalled, "reading the history"))?;
    Ok(Outcome { sent, lost: sent.saturating_sub(history.distinct), changes, ..history.outcome })
}

/// Sends as fast as the window allows, and changes the stack meanwhile. Returns the number of messages and of changes.
async fn send<D>(datapath: D, to: Addr, setup: Setup) -> Result<(u64, u64), bertha_core::Error>
where
    D: Runs<super::Layers> + Runs<Upgradable<super::Layers>, Out = Out<D>>,
    Out<D>: Connection<Data = Message>,
{
    let connection = stack().upgradable().connect(datapath, to).await?;
    let window = Semaphore::new(WINDOW);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let sending = async {
        let mut next = 0;
        while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
            if let Ok(permit) = window.acquire().await {
                permit.forget();
            }
            connection.send([next; 8]).await?;
            next += 1;
        }
        connection.send([END; 8]).await?;
        Ok::<_, bertha_core::Error>(next)
    };
    let acknowledged = async {
        loop {
            let [seen, ..] = connection.recv().await?;
            if seen == END {
                return Ok(());
            }
            window.add_permits(EVERY as usize);
        }
    };
    let changing = async {
        let started = Instant::now();
        let pause = setup.lasting / (setup.changes as u32 + 1);
        let mut changes = 0;
        for number in 1..=setup.changes {
            tokio::time::sleep_until((started + pause * number as u32).into()).await;
            let agreement = connection.upgrade(Pick::alternative(number % 2)).await?;
            changes += u64::from(agreement.picks() == [(number % 2) as u8]);
        }
        tokio::time::sleep_until((started + setup.lasting).into()).await;
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        Ok(changes)
    };
    let (sent, (), changes) = tokio::try_join!(sending, acknowledged, changing)?;
    connection.close().await?;
    Ok((sent, changes))
}

struct History {
    distinct: u64,
    outcome: Outcome,
}

/// Receives until the end, and records every fault.
async fn receive<D>(
    mut incoming: Incoming<Upgradable<super::Layers>, D>,
) -> Result<History, bertha_core::Error>
where
    D: Runs<Upgradable<super::Layers>, Out: Connection<Data = Message>>,
{
    let none = || bertha_core::Error::new(bertha_core::ErrorKind::Closed, "the listener accepted no client");
    let connection: Negotiated<D::Out> = incoming.next_or_refusal().await.transpose()?.ok_or_else(none)?;
    let mut history = History { distinct: 0, outcome: Outcome::default() };
    let mut expected = 0;
    let mut received = 0;
    let mut skipped = std::collections::HashSet::new();
    let started = Instant::now();
    let mut before = Instant::now();
    loop {
        let [number, ..] = connection.recv().await?;
        let now = Instant::now();
        let pause = (now - before).as_secs_f64();
        before = now;
        history.outcome.longest_pause = history.outcome.longest_pause.max(pause);
        if number == END {
            break;
        }
        if number >= expected {
            skipped.extend(expected..number);
            expected = number + 1;
            history.distinct += 1;
        } else if skipped.remove(&number) {
            history.outcome.reordered += 1;
            history.distinct += 1;
        } else {
            history.outcome.duplicated += 1;
        }
        received += 1;
        if received % EVERY == 0 {
            connection.send([received; 8]).await?;
        }
    }
    history.outcome.rate = received as f64 / started.elapsed().as_secs_f64();
    connection.send([END; 8]).await?;
    // The loop lasts until the sender has closed, so that none of its messages is lost.
    while connection.recv().await.is_ok() {}
    Ok(history)
}
