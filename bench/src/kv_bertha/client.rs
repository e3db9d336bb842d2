//! The closed loop over one connection.

use crate::closed_loop::{ClosedLoop, Due, PATIENCE};
use crate::latency::Recorder;
use crate::workload::{Phase, Script};
use crate::{Error, ErrorKind};
use bertha::prelude::*;
use bertha_kvstore::{Body, Message};
use std::pin::pin;
use std::time::Instant;
use std::vec;
use tokio::time::sleep;

/// The most replies that are taken at once.
const BURST: usize = 256;

/// A client of the store.
#[derive(Debug)]
pub(crate) struct Client<C> {
    connection: C,
    window: ClosedLoop,
    /// What takes the place of the replies of a burst.
    due: Vec<Due>,
}

/// Takes replies while they are decoded, so that none of them has to be kept.
struct Replies<'a> {
    window: &'a mut ClosedLoop,
    latency: &'a mut Recorder,
    due: &'a mut Vec<Due>,
    /// When the first of them came.
    came: Option<Instant>,
    refused: Option<Error>,
}

impl Extend<Message> for Replies<'_> {
    // In line by force, as the making of requests below: the compiler finds both too long for what is asked for in two
    // places, of which one is hardly ever reached, and would hand messages over in memory.
    #[inline(always)]
    fn extend<Messages: IntoIterator<Item = Message>>(&mut self, replies: Messages) {
        for reply in replies {
            let now = *self.came.get_or_insert_with(Instant::now);
            match self.window.reply(&reply, now, self.latency) {
                Ok(Some(due)) => self.due.push(due),
                Ok(None) => {}
                Err(error) => self.refused = Some(error),
            }
        }
    }
}

/// Makes requests while they are encoded.
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
            // Most are reads, for which there is nothing to clone but the key.
            Body::Get => Message::get(id, template.key.clone()),
            body => Message { key: template.key.clone(), id, body: body.clone() },
        })
    }
}

impl<C: Connection<Data = Message>> Client<C> {
    /// A client that keeps `outstanding` requests on the way, at least one.
    pub(crate) fn new(connection: C, outstanding: usize) -> Self {
        Self { connection, window: ClosedLoop::new(outstanding), due: Vec::new() }
    }

    /// How many requests were sent again.
    pub(crate) fn resent(&self) -> u64 {
        self.window.resent()
    }

    /// Makes this many requests of the script and records how long each took, from its first sending.
    pub(crate) async fn run(
        &mut self,
        script: &mut Script,
        phase: Phase,
        requests: u64,
        latency: &mut Recorder,
    ) -> Result<(), Error> {
        self.begin(script, phase, requests).await?;
        let mut patience = pin!(sleep(PATIENCE));
        while !self.window.is_over() {
            let Self { connection, window, due } = self;
            let mut replies = Replies { window, latency, due, came: None, refused: None };
            tokio::select! {
                biased;
                received = connection.recv_batch(&mut replies, BURST) => { received.map_err(failed)?; }
                () = &mut patience => {
                    patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
                    replies.due.extend(replies.window.lost()?);
                }
            }
            replies.refused.map_or(Ok(()), Err)?;
            self.send(script, phase).await?;
        }
        Ok(())
    }

    /// Sends the first of so many requests.
    pub(crate) async fn begin(
        &mut self,
        script: &mut Script,
        phase: Phase,
        requests: u64,
    ) -> Result<(), Error> {
        let Self { window, due, .. } = self;
        window.begin(requests);
        let now = Instant::now();
        due.extend(std::iter::from_fn(|| window.fill(now)));
        self.send(script, phase).await
    }

    /// Waits for replies and sends the requests that take their place. How many replies there were.
    pub(crate) async fn exchange(
        &mut self,
        script: &mut Script,
        phase: Phase,
        latency: &mut Recorder,
    ) -> Result<usize, Error> {
        let Self { connection, window, due } = self;
        let mut replies = Replies { window, latency, due, came: None, refused: None };
        let received = connection.recv_batch(&mut replies, BURST).await.map_err(failed)?;
        replies.refused.map_or(Ok(()), Err)?;
        self.send(script, phase).await?;
        Ok(received)
    }

    /// How many requests have no reply yet.
    pub(crate) fn on_the_way(&self) -> u64 {
        self.window.on_the_way()
    }

    async fn send(&mut self, script: &mut Script, phase: Phase) -> Result<(), Error> {
        let Self { connection, due, .. } = self;
        connection.send_batch(Requests { script, phase, due: due.drain(..) }).await.map_err(failed)
    }

    pub(crate) async fn close(&self) -> Result<(), Error> {
        self.connection.close().await.map_err(failed)
    }
}

fn failed(error: bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "talking to the store")(error)
}
