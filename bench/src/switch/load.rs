//! A stream of numbers under full load, and its history.

use super::{Message, failed, runtime, stack};
use crate::{Error, ErrorKind, cores};
use bertha_core::{Addr, Connection, Datapath};
use bertha_negotiation::{Incoming, Negotiate, Negotiated, Pick, Runs, Switching, Upgradable};
use std::net::Ipv4Addr;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// How many messages may be on their way, so that a socket buffer holds them: what it drops would be its own loss.
const WINDOW: usize = 512;
/// After how many messages the receiver says how far it is.
const EVERY: u64 = 32;
/// How long it may stall before the measurement is given up.
const PATIENCE: Duration = Duration::from_secs(60);
/// The last number.
const END: u64 = u64::MAX;

/// The connection of the measured stack.
type Out<D> = Switching<<D as Runs<super::Layers>>::Out, <D as Datapath>::Connection>;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How often the stack changes.
    pub changes: usize,
    /// For how long messages flow at least, and how often the stack changes in that time.
    pub lasting: Duration,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// How many messages were sent.
    pub sent: u64,
    /// How many of them did not arrive.
    pub lost: u64,
    /// How many arrived again.
    pub duplicated: u64,
    /// How many arrived after a later one.
    pub reordered: u64,
    /// How often both ends have changed their stack.
    pub changes: u64,
    /// Messages per second.
    pub rate: f64,
    /// The longest time between two messages, in seconds.
    pub longest_pause: f64,
}

/// Streams between two threads over `datapath`, while the sender changes the stack.
///
/// # Errors
/// Those of the connections and threads; [`ErrorKind::Stalled`] if nothing arrives any more.
pub fn across_threads<D>(datapath: impl Fn() -> D + Send + Sync, setup: Setup) -> Result<Outcome, Error>
where
    D: Runs<super::Layers> + Runs<Upgradable<super::Layers>, Out = Out<D>>,
    Out<D>: Connection<Data = Message>,
{
    let datapath = &datapath;
    std::thread::scope(|scope| {
        let (tell, told) = sync_channel(1);
        let receiver = scope.spawn(move || {
            runtime()?.block_on(in_time(setup, async {
                let incoming = stack().upgradable().listen(datapath(), (Ipv4Addr::LOCALHOST, 0)).await?;
                let _ = tell.send(incoming.local_addr());
                receive(incoming).await
            }))
        });
        let sender = scope.spawn(move || match told.recv() {
            Ok(server) => runtime()?.block_on(in_time(setup, send(datapath(), server, setup))),
            Err(_) => Err(Error::new(ErrorKind::Socket, "the receiver did not start")),
        });
        let (sent, received) = (cores::join(sender), cores::join(receiver));
        let ((sent, changes), history) = (sent?, received?);
        Ok(Outcome { sent, lost: sent.saturating_sub(history.distinct), changes, ..history.outcome })
    })
}

async fn in_time<T>(
    setup: Setup,
    work: impl Future<Output = Result<T, bertha_core::Error>>,
) -> Result<T, Error> {
    let done = tokio::time::timeout(setup.lasting + PATIENCE, work).await;
    done.map_err(Error::while_doing(ErrorKind::Stalled, "waiting for a message"))?.map_err(failed)
}

/// Sends as fast as the window allows, and changes the stack meanwhile. How many messages, and how many changes.
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
    let hearing = async {
        loop {
            let [seen, ..] = connection.recv().await?;
            if seen == END {
                return Ok(());
            }
            window.add_permits(EVERY as usize);
        }
    };
    let changing = async {
        let (started, pause) = (Instant::now(), setup.lasting / (setup.changes as u32 + 1));
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
    let (sent, (), changes) = tokio::try_join!(sending, hearing, changing)?;
    connection.close().await?;
    Ok((sent, changes))
}

struct History {
    distinct: u64,
    outcome: Outcome,
}

/// Receives until the end, and notes what is wrong.
async fn receive<D>(
    mut incoming: Incoming<Upgradable<super::Layers>, D>,
) -> Result<History, bertha_core::Error>
where
    D: Runs<Upgradable<super::Layers>, Out: Connection<Data = Message>>,
{
    let nobody = || bertha_core::Error::new(bertha_core::ErrorKind::Closed, "the listener accepted nobody");
    let connection: Negotiated<D::Out> = incoming.next().await.transpose()?.ok_or_else(nobody)?;
    let mut history = History { distinct: 0, outcome: Outcome::default() };
    let (mut expected, mut received, mut skipped) = (0, 0, std::collections::HashSet::new());
    let (started, mut before) = (Instant::now(), Instant::now());
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
    // Until the sender has closed, so that nothing of it is lost.
    while connection.recv().await.is_ok() {}
    Ok(history)
}
