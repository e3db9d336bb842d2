//! The closed loop over a connection.

use super::BURST;
use super::closed_loop::{ClosedLoop, Due};
use super::workload::{Phase, Script};
use crate::harness::Recorder;
use crate::{Error, ErrorKind};
use bertha::prelude::*;
use bertha_core::{Base, Runtime};
use bertha_kvstore::{Body, Message};
use std::pin::pin;
use std::time::{Duration, Instant};
use std::vec;

/// A client of the store.
#[derive(Debug)]
pub(crate) struct Client<C> {
    connection: C,
    window: ClosedLoop,
    /// The requests that take the place of a burst of replies.
    due: Vec<Due>,
}

/// A consumer of replies while they are decoded, so that no reply has to be kept.
struct Replies<'a> {
    window: &'a mut ClosedLoop,
    latency: &'a mut Recorder,
    due: &'a mut Vec<Due>,
    /// Arrival of the first reply.
    arrived: Option<Instant>,
    refused: Option<Error>,
}

impl Extend<Message> for Replies<'_> {
    // Inlining is forced here and for the making of requests below: the compiler considers both too long for
    // two call sites, of which one is rare, and would pass messages through memory.
    #[inline(always)]
    fn extend<Messages: IntoIterator<Item = Message>>(&mut self, replies: Messages) {
        for reply in replies {
            let now = *self.arrived.get_or_insert_with(Instant::now);
            match self.window.reply(&reply, now, self.latency) {
                Ok(Some(due)) => self.due.push(due),
                Ok(None) => {}
                Err(error) => self.refused = Some(error),
            }
        }
    }
}

/// A source that makes requests while they are encoded.
struct Requests<'a> {
    script: &'a mut Script,
    phase: Phase,
    due: vec::Drain<'a, Due>,
}

impl Iterator for Requests<'_> {
    type Item = Message;

    #[inline(always)]
    fn next(&mut self) -> Option<Message> {
        let Due { id, position } = self.due.next()?;
        let template = self.script.request(self.phase, position);
        Some(match &template.body {
            // Most requests are reads, for which only the key has to be cloned.
            Body::Get => Message::get(id, template.key.clone()),
            body => Message { key: template.key.clone(), id, body: body.clone() },
        })
    }
}

impl<C: Connection<Data = Message>> Client<C> {
    /// Creates a client that keeps `in_flight` requests in flight, at least one, and sends all of them again
    /// after `timeout` without a reply.
    pub(crate) fn new(connection: C, in_flight: usize, timeout: Duration) -> Self {
        Self { connection, window: ClosedLoop::new(in_flight, timeout), due: Vec::new() }
    }

    /// Returns the number of requests that were sent again.
    pub(crate) fn resent(&self) -> u64 {
        self.window.resent()
    }

    /// Makes this many requests of the script and records the latency of each, from its first sending.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] when the connection fails, [`ErrorKind::Stalled`] when no reply arrives any more.
    pub(crate) async fn run(
        &mut self,
        script: &mut Script,
        phase: Phase,
        requests: u64,
        latency: &mut Recorder,
    ) -> Result<(), Error> {
        let Self { connection, window, due } = self;
        window.begin(requests);
        let now = Instant::now();
        due.extend(std::iter::from_fn(|| window.fill(now)));
        let runtime = connection.base().runtime();
        let wait = window.timeout();
        let mut timeout = pin!(runtime.sleep_until(runtime.now() + wait));
        loop {
            connection.send_batch(Requests { script, phase, due: due.drain(..) }).await.map_err(failed)?;
            if window.is_over() {
                return Ok(());
            }
            let mut replies = Replies { window, latency, due, arrived: None, refused: None };
            tokio::select! {
                biased;
                received = connection.recv_batch(&mut replies, BURST) => { received.map_err(failed)?; }
                () = &mut timeout => {
                    timeout.set(runtime.sleep_until(runtime.now() + wait));
                    replies.due.extend(replies.window.lost()?);
                }
            }
            replies.refused.map_or(Ok(()), Err)?;
        }
    }

    /// Closes the connection.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] when the close fails.
    pub(crate) async fn close(&self) -> Result<(), Error> {
        self.connection.close().await.map_err(failed)
    }
}

fn failed(error: bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "talking to the store")(error)
}
