//! One sending connection of a client.

use crate::probe::{Kind, Probe, Report, goes_on, mark};
use bertha::{Base, Buf, Connection, Error, ErrorKind};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::timeout;

/// The most bytes, and the most messages, of one burst.
const BURST_BYTES: usize = 256 << 10;
const BURST_MESSAGES: usize = 64;

/// How often the server is asked for its report, and how long an answer may take.
const ATTEMPTS: u64 = 20;
const TIME_LIMIT: Duration = Duration::from_millis(250);

/// The longest time for what the stack still holds at the end.
const DRAINING: Duration = Duration::from_secs(30);

/// The longest message unless another length is asked for.
const LONGEST: usize = 128 << 10;

/// The counts of one connection, read while it sends.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) messages: AtomicU64,
    pub(super) bytes: AtomicU64,
}

/// The outcome on one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) sent_messages: u64,
    pub(super) sent_bytes: u64,
    pub(super) sending: Duration,
    /// The server's report; none if the server did not answer.
    pub(super) received: Option<Report>,
}

/// The length of messages on this connection.
///
/// # Errors
/// [`TooLarge`](ErrorKind::TooLarge) if the connection carries no message of the length that was asked for.
pub(super) fn message_length(
    connection: &impl Connection<Data = Buf>,
    asked: Option<usize>,
) -> Result<usize, Error> {
    let longest = connection.mtu().saturating_sub(connection.base().reserved());
    match asked {
        Some(asked) if asked > longest => {
            let what =
                format!("messages of {asked} bytes were asked for, and the connection carries {longest}");
            Err(Error::new(ErrorKind::TooLarge, what))
        }
        Some(asked) => Ok(asked),
        None => Ok(longest.min(LONGEST)),
    }
}

/// Sends for so long, and asks the server for its report then.
///
/// # Errors
/// Those that end the connection.
pub(super) async fn run(
    connection: &impl Connection<Data = Buf>,
    length: usize,
    time: Duration,
    sent: &Sent,
) -> Result<Outcome, Error> {
    let (tell, mut told) = watch::channel(None);
    // The sender receives too, since layers below see the peer's messages in no other way.
    let receiving = async {
        loop {
            match connection.recv().await {
                Ok(message) => {
                    if let Some(Probe::Report(report)) = Probe::read(&message) {
                        tell.send_replace(Some(report));
                    }
                }
                Err(error) if goes_on(&error) => {}
                Err(error) => return error,
            }
        }
    };
    let sending = async {
        let start = Instant::now();
        send(connection, length, start + time, sent).await?;
        let sending = start.elapsed();
        // If it takes longer, the report says how much has arrived until then.
        if let Ok(drained) = timeout(DRAINING, connection.drain()).await {
            drained?;
        }
        let received = ask(connection, &mut told).await?;
        let (sent_messages, sent_bytes) = (sent.messages.load(Relaxed), sent.bytes.load(Relaxed));
        Ok(Outcome { sent_messages, sent_bytes, sending, received })
    };
    let (mut receiving, mut sending) = (pin!(receiving), pin!(sending));
    tokio::select! {
        biased;
        outcome = &mut sending => outcome,
        error = &mut receiving => Err(error),
    }
}

/// Sends bursts until the deadline.
async fn send(
    connection: &impl Connection<Data = Buf>,
    length: usize,
    deadline: Instant,
    sent: &Sent,
) -> Result<(), Error> {
    let burst = (BURST_BYTES / length).clamp(1, BURST_MESSAGES);
    let mut next = 0_u64;
    while Instant::now() < deadline {
        let mut taken = 0_u64;
        let messages = (0..burst as u64).map_while(|place| {
            let mut message = connection.base().buffer(length).ok()?;
            mark(&mut message, Kind::Data, next + place);
            taken += 1;
            Some(message)
        });
        match connection.send_batch(messages).await {
            Err(error) if !goes_on(&error) => return Err(error),
            // Others use the thread, and the datapath, while it has no buffer or no room.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            Ok(()) if taken == 0 => tokio::time::sleep(Duration::from_millis(1)).await,
            Ok(()) => {
                sent.messages.fetch_add(taken, Relaxed);
                sent.bytes.fetch_add(taken * length as u64, Relaxed);
            }
        }
        next += taken;
        // A datapath that always has room would let no other task of this thread run, the receiving one included.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Asks until an answer comes.
async fn ask(
    connection: &impl Connection<Data = Buf>,
    told: &mut watch::Receiver<Option<Report>>,
) -> Result<Option<Report>, Error> {
    for attempt in 0..ATTEMPTS {
        let mut question = connection.base().buffer(crate::probe::SHORTEST)?;
        mark(&mut question, Kind::Ask, attempt);
        match connection.send(question).await {
            Err(error) if !goes_on(&error) => return Err(error),
            _ => {}
        }
        if timeout(TIME_LIMIT, told.changed()).await.is_ok() {
            break;
        }
    }
    Ok(*told.borrow())
}
