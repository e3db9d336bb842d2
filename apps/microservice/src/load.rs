//! Requests over many connections.

use crate::{Message, Site, Transport};
use bertha_core::{Addr, Error, ErrorKind};
use hdrhistogram::Histogram;
use std::fmt;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Time for which an answer is awaited.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The amount of requests.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Number of connections, made one after another.
    pub connections: u64,
    /// Number of requests on each connection, one at a time.
    pub requests: u64,
}

/// The times from request to answer.
#[derive(Debug, Clone)]
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// Returns the latency that this part of the requests does not exceed.
    pub fn quantile(&self, part: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_quantile(part))
    }

    /// Returns the number of answered requests.
    pub fn count(&self) -> u64 {
        self.0.len()
    }
}

/// Writes a box plot in words: the 5th, 25th, 50th, 75th and 95th percentiles.
impl fmt::Display for Latencies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let us = |part| self.quantile(part).as_nanos() as f64 / 1e3;
        let [low, first, median, third, high] = [0.05, 0.25, 0.5, 0.75, 0.95].map(us);
        write!(f, "{low:8.1} |--[{first:8.1} |{median:8.1} |{third:8.1} ]--| {high:8.1} us")
    }
}

/// Asks the service at `to`.
///
/// # Errors
/// Errors of connecting and asking; [`TimedOut`](ErrorKind::TimedOut) if an answer is lost.
pub async fn ask(transport: Transport, site: &Site, to: &Addr, load: Load) -> Result<Latencies, Error> {
    // The histogram keeps times of up to a minute.
    let latencies = Histogram::new_with_bounds(1, 60_000_000_000, 3);
    let mut latencies = latencies.map_err(|error| Error::new(ErrorKind::Invalid, error.to_string()))?;
    for connection in 0..load.connections {
        let service = transport.connect(site, to.clone()).await?;
        for request in 0..load.requests {
            let customer = connection * load.requests + request;
            let start = Instant::now();
            let answer = timeout(TIMEOUT, service.ask(Message { customer, items: Vec::new() })).await;
            let answer =
                answer.map_err(|_| Error::new(ErrorKind::TimedOut, "a request or its answer was lost"))??;
            latencies.saturating_record(start.elapsed().as_nanos() as u64);
            if answer.customer != customer {
                return Err(Error::new(ErrorKind::Malformed, "the answer to another request"));
            }
        }
    }
    Ok(Latencies(latencies))
}
