//! Sending as much as was asked for, whatever comes back.

use crate::{Error, ErrorKind};
use bertha::{Base, Buf, Connection};
use std::cell::Cell;
use std::time::{Duration, Instant};
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};

/// The most messages that are sent or received at once.
const BURST: usize = 128;

/// After this long without a reply, what is on the way counts as lost.
const PATIENCE: Duration = Duration::from_millis(50);

/// How long the store gets to answer what it has queued before something else is measured.
const REST: Duration = Duration::from_millis(50);

/// A connection to flood.
pub(crate) struct Flood<'c, C> {
    connection: &'c C,
}

/// What was answered, and in what time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answered {
    pub(crate) replies: u64,
    pub(crate) elapsed: Duration,
}

impl Answered {
    pub(crate) fn per_second(&self) -> f64 {
        self.replies as f64 / self.elapsed.as_secs_f64()
    }
}

/// Counts messages, and drops them.
struct Count(usize);

impl Extend<Buf> for Count {
    fn extend<Messages: IntoIterator<Item = Buf>>(&mut self, messages: Messages) {
        self.0 += messages.into_iter().count();
    }
}

impl<'c, C: Connection<Data = Buf>> Flood<'c, C> {
    pub(crate) fn new(connection: &'c C) -> Self {
        Self { connection }
    }

    /// Keeps `outstanding` requests on the way.
    pub(crate) async fn closed(
        &self,
        requests: &[Vec<u8>],
        outstanding: u64,
        duration: Duration,
    ) -> Result<Answered, Error> {
        let started = Instant::now();
        let (mut sent, mut on_the_way, mut answered) = (0, 0, 0);
        while started.elapsed() < duration {
            let room = outstanding - on_the_way;
            self.send(requests, sent, room).await?;
            sent += room;
            on_the_way += room;
            if let Ok(received) = timeout(PATIENCE, self.receive()).await {
                let received = received?;
                answered += received;
                // What was taken for lost may come after all.
                on_the_way = on_the_way.saturating_sub(received);
            } else {
                on_the_way = 0;
            }
        }
        let answered = Answered { replies: answered, elapsed: started.elapsed() };
        self.drain().await?;
        Ok(answered)
    }

    /// Sends `rate` requests per second, or as many as this client can; gives what was sent and answered per second.
    pub(crate) async fn open(
        &self,
        requests: &[Vec<u8>],
        rate: f64,
        duration: Duration,
    ) -> Result<(f64, f64), Error> {
        let started = Instant::now();
        let (sent, answered) = (Cell::new(0), Cell::new(0));
        let sending = async {
            while started.elapsed() < duration {
                let due = (rate * started.elapsed().as_secs_f64()) as u64 - sent.get();
                let burst = due.min(BURST as u64);
                self.send(requests, sent.get(), burst).await?;
                sent.set(sent.get() + burst);
                yield_now().await;
            }
            Ok(())
        };
        let receiving = async {
            loop {
                answered.set(answered.get() + self.receive().await?);
            }
        };
        tokio::select! {
            sent = sending => sent,
            received = receiving => received,
        }?;
        let seconds = started.elapsed().as_secs_f64();
        let rates = (sent.get() as f64 / seconds, answered.get() as f64 / seconds);
        self.drain().await?;
        Ok(rates)
    }

    async fn send(&self, requests: &[Vec<u8>], position: u64, count: u64) -> Result<(), Error> {
        let mut full = Ok(());
        let burst = (position..position + count).map_while(|position| {
            let request = &requests[position as usize % requests.len()];
            let mut message =
                self.connection.base().buffer(request.len()).map_err(|error| full = Err(error)).ok()?;
            message.copy_from_slice(request);
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

    /// Takes what still comes.
    async fn drain(&self) -> Result<(), Error> {
        let coming = async {
            loop {
                self.receive().await?;
            }
        };
        tokio::select! {
            ended = coming => ended,
            () = sleep(REST) => Ok(()),
        }
    }
}

fn failed(error: bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "flooding the store")(error)
}
