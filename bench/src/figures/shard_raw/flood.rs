//! A client with a fixed number of requests in flight, which ignores the content of replies.

use crate::{Error, ErrorKind};
use bertha::{Base, Buf, Connection};
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// Largest number of messages that are sent or received at once.
pub(super) const BURST: usize = 128;

/// Time without a reply after which the requests in flight count as lost.
const TIMEOUT: Duration = Duration::from_millis(50);

/// Time for replies that are still queued, before the next measurement.
const REST: Duration = Duration::from_millis(50);

/// A connection to flood.
pub(super) struct Flood<'c, C> {
    pub(super) connection: &'c C,
}

/// Number of replies, and their time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answered {
    pub(super) replies: u64,
    pub(super) elapsed: Duration,
}

/// A counter that drops messages.
struct Count(usize);

impl Extend<Buf> for Count {
    fn extend<Messages: IntoIterator<Item = Buf>>(&mut self, messages: Messages) {
        self.0 += messages.into_iter().count();
    }
}

impl<'c, C: Connection<Data = Buf>> Flood<'c, C> {
    pub(super) fn new(connection: &'c C) -> Self {
        Self { connection }
    }

    /// Keeps a fixed number of requests in flight.
    pub(super) async fn closed(
        &self,
        requests: &[Vec<u8>],
        max_in_flight: u64,
        duration: Duration,
    ) -> Result<Answered, Error> {
        let started = Instant::now();
        let mut sent = 0;
        let mut in_flight = 0;
        let mut answered = 0;
        while started.elapsed() < duration {
            let free = max_in_flight - in_flight;
            self.send(requests, sent, free).await?;
            sent += free;
            in_flight += free;
            if let Ok(received) = timeout(TIMEOUT, self.receive()).await {
                let received = received?;
                answered += received;
                // Requests that counted as lost may be answered after all.
                in_flight = in_flight.saturating_sub(received);
            } else {
                in_flight = 0;
            }
        }
        let answered = Answered { replies: answered, elapsed: started.elapsed() };
        self.drain().await?;
        Ok(answered)
    }

    async fn send(&self, requests: &[Vec<u8>], position: u64, count: u64) -> Result<(), Error> {
        self.send_each(requests, position, count, |_, _| {}).await
    }

    /// Sends requests, of which `prepare` changes each by its position.
    pub(super) async fn send_each(
        &self,
        requests: &[Vec<u8>],
        position: u64,
        count: u64,
        prepare: impl Fn(&mut [u8], u64) + Sync,
    ) -> Result<(), Error> {
        let mut full = Ok(());
        let burst = (position..position + count).map_while(|position| {
            let request = &requests[position as usize % requests.len()];
            let mut message =
                self.connection.base().buffer(request.len()).map_err(|error| full = Err(error)).ok()?;
            message.copy_from_slice(request);
            prepare(&mut message, position);
            Some(message)
        });
        let sent = self.connection.send_batch(burst).await;
        sent.and(full).map_err(failed)
    }

    async fn receive(&self) -> Result<u64, Error> {
        let mut count = Count(0);
        self.connection.recv_batch(&mut count, BURST).await.map_err(failed)?;
        Ok(count.0 as u64)
    }

    /// Receives late replies.
    pub(super) async fn drain(&self) -> Result<(), Error> {
        let arriving = async {
            loop {
                self.receive().await?;
            }
        };
        tokio::select! {
            ended = arriving => ended,
            () = sleep(REST) => Ok(()),
        }
    }
}

pub(super) fn failed(error: bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "flooding the store")(error)
}
