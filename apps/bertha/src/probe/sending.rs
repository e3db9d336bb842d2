//! Data that is sent for a while, by a client or, by a client's order, by the server.

use super::{Kind, Report, SHORTEST, mark};
use bertha::{Base, Buf, Connection, Error};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Largest number of bytes, and of messages, in a burst.
const BURST_BYTES: usize = 256 << 10;
const BURST_MESSAGES: usize = 64;

/// Longest time for what the stack still holds at the end.
const DRAINING: Duration = Duration::from_secs(30);

/// The counters of a connection, read while they grow.
#[derive(Debug, Default)]
pub(crate) struct Transferred {
    pub(crate) messages: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

impl Transferred {
    pub(crate) fn add(&self, messages: u64, bytes: u64) {
        self.messages.fetch_add(messages, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }
}

/// Returns the length of the longest message of this connection, in bytes.
pub(crate) fn longest(connection: &impl Connection<Data = Buf>) -> usize {
    connection.mtu().saturating_sub(connection.base().reserved())
}

/// Sends messages of this length for `time`, and waits until the stack holds nothing back. Returns the report
/// of what was sent, without the time of this wait.
///
/// # Errors
/// Errors that end the connection.
pub(crate) async fn send_for(
    connection: &impl Connection<Data = Buf>,
    length: usize,
    time: Duration,
    sent: &Transferred,
) -> Result<Report, Error> {
    let start = Instant::now();
    send(connection, length.clamp(SHORTEST, longest(connection).max(SHORTEST)), start + time, sent).await?;
    let microseconds = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    // If draining takes longer, the peer reports how much has arrived until then.
    if let Ok(drained) = timeout(DRAINING, connection.drain()).await {
        drained?;
    }
    let messages = sent.messages.load(Relaxed);
    let bytes = sent.bytes.load(Relaxed);
    Ok(Report { messages, bytes, microseconds, ..Report::default() })
}

/// Sends bursts until the deadline.
async fn send(
    connection: &impl Connection<Data = Buf>,
    length: usize,
    deadline: Instant,
    sent: &Transferred,
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
            // While the datapath has no buffer or no room, other tasks use the thread and the datapath.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            Ok(()) if taken == 0 => tokio::time::sleep(Duration::from_millis(1)).await,
            Ok(()) => sent.add(taken, taken * length as u64),
        }
        next += taken;
        // Without the yield, a datapath that always has room would let no other task of this thread run, the
        // receiving task included.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Returns true if the connection lives on after this error.
pub(crate) fn goes_on(error: &Error) -> bool {
    !error.ends_connection()
}
