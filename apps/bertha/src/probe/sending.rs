//! Data that is sent for a while, by a client or, where that asks for it, by the server.

use super::{Kind, Report, SHORTEST, mark};
use bertha::{Base, Buf, Connection, Error};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The most bytes, and the most messages, of one burst.
const BURST_BYTES: usize = 256 << 10;
const BURST_MESSAGES: usize = 64;

/// The longest time for what the stack still holds at the end.
const DRAINING: Duration = Duration::from_secs(30);

/// The counts of one connection, read while they grow.
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

/// The longest message of this connection, in bytes.
pub(crate) fn longest(connection: &impl Connection<Data = Buf>) -> usize {
    connection.mtu().saturating_sub(connection.base().reserved())
}

/// Sends messages of this length for so long, and waits until the stack holds nothing back. Returns what was sent, and the time without
/// that wait.
///
/// # Errors
/// Those that end the connection.
pub(crate) async fn send_for(
    connection: &impl Connection<Data = Buf>,
    length: usize,
    time: Duration,
    sent: &Transferred,
) -> Result<Report, Error> {
    let start = Instant::now();
    send(connection, length.clamp(SHORTEST, longest(connection).max(SHORTEST)), start + time, sent).await?;
    let microseconds = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    // If it takes longer, the other end says how much has arrived until then.
    if let Ok(drained) = timeout(DRAINING, connection.drain()).await {
        drained?;
    }
    let (messages, bytes) = (sent.messages.load(Relaxed), sent.bytes.load(Relaxed));
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
            // Others use the thread, and the datapath, while it has no buffer or no room.
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
            Ok(()) if taken == 0 => tokio::time::sleep(Duration::from_millis(1)).await,
            Ok(()) => sent.add(taken, taken * length as u64),
        }
        next += taken;
        // A datapath that always has room would let no other task of this thread run, the receiving one included.
        tokio::task::yield_now().await;
    }
    Ok(())
}

/// Whether the connection lives on after this error.
pub(crate) fn goes_on(error: &Error) -> bool {
    !error.ends_connection()
}
