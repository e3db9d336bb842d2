//! A client that sends at times that are fixed in advance, and measures latencies.

use super::flood::{BURST, Flood, failed};
use crate::Error;
use crate::harness::{Latency, Recorder};
use bertha::{Buf, Connection};
use std::time::{Duration, Instant};

/// The replies to requests of an offered load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Served {
    /// Offered requests per second.
    pub(super) offered: f64,
    /// Requests sent per second: less than offered if the client itself has no time to send them.
    pub(super) sent: f64,
    /// Number of replies.
    pub(super) replies: u64,
    /// Replies per second.
    pub(super) answered: f64,
    /// Latency from the intended time of a request to its reply.
    pub(super) latency: Latency,
}

/// Shortest time between two bursts. A burst for each single request would measure system calls.
const SLACK: Duration = Duration::from_micros(50);

/// The bytes at the end of a message, within its value, that hold its intended time. Shards return messages
/// as they are.
const STAMP: usize = size_of::<u64>();

/// A recorder of arriving messages by their stamps.
struct Arrivals {
    started: Instant,
    latency: Recorder,
}

impl Extend<Buf> for Arrivals {
    fn extend<Messages: IntoIterator<Item = Buf>>(&mut self, messages: Messages) {
        let now = self.started.elapsed();
        for message in messages {
            // Every message of this client is longer than its stamp.
            if let Some(stamp) = message.last_chunk::<STAMP>() {
                let intended = Duration::from_nanos(u64::from_le_bytes(*stamp));
                self.latency.record(now.saturating_sub(intended));
            }
        }
    }
}

impl<C: Connection<Data = Buf>> Flood<'_, C> {
    /// Sends `rate` requests per second, evenly spaced, whether or not earlier requests are answered.
    pub(super) async fn paced(
        &self,
        requests: &[Vec<u8>],
        rate: f64,
        duration: Duration,
    ) -> Result<Served, Error> {
        let mut arrivals = Arrivals { started: Instant::now(), latency: Recorder::new()? };
        let total = (rate * duration.as_secs_f64()) as u64;
        let mut sent = 0;
        let mut next_burst = Duration::ZERO;
        loop {
            let now = arrivals.started.elapsed();
            if now >= duration {
                break;
            }
            if now >= next_burst {
                let due = ((rate * now.as_secs_f64()) as u64).min(total) - sent;
                let burst = due.min(BURST as u64);
                self.send_stamped(requests, sent, burst, rate).await?;
                sent += burst;
                next_burst = now + SLACK;
            }
            tokio::select! {
                biased;
                received = self.connection.recv_batch(&mut arrivals, BURST) => { received.map_err(failed)?; }
                // The shards are on this thread.
                () = tokio::task::yield_now() => {}
            }
        }
        let seconds = arrivals.started.elapsed().as_secs_f64();
        let replies = arrivals.latency.count();
        let answered = replies as f64 / seconds;
        let latency = arrivals.latency.summary();
        self.drain().await?;
        Ok(Served { offered: rate, sent: sent as f64 / seconds, replies, answered, latency })
    }

    /// Sends requests with the times at which they had to be sent.
    async fn send_stamped(
        &self,
        requests: &[Vec<u8>],
        position: u64,
        count: u64,
        rate: f64,
    ) -> Result<(), Error> {
        self.send_each(requests, position, count, |message, position| {
            if let Some(stamp) = message.last_chunk_mut::<STAMP>() {
                *stamp = ((position as f64 / rate * 1e9) as u64).to_le_bytes();
            }
        })
        .await
    }
}
