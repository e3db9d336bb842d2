//! The closed loop over one connection.

use crate::closed_loop::{ClosedLoop, Due, PATIENCE};
use crate::latency::Recorder;
use crate::workload::{Phase, Script};
use crate::{Error, ErrorKind};
use bertha::prelude::*;
use bertha_kvstore::Message;
use std::pin::pin;
use std::time::Instant;
use tokio::time::sleep;

/// The most replies that are taken at once.
const BURST: usize = 256;

/// A client of the store.
#[derive(Debug)]
pub(crate) struct Client<C> {
    connection: C,
    window: ClosedLoop,
    /// The replies of a burst, each of which the next request then takes the place of.
    messages: Vec<Message>,
}

impl<C: Connection<Data = Message>> Client<C> {
    /// A client that keeps `outstanding` requests on the way, at least one.
    pub(crate) fn new(connection: C, outstanding: usize) -> Self {
        Self { connection, window: ClosedLoop::new(outstanding), messages: Vec::new() }
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
            tokio::select! {
                biased;
                received = self.connection.recv_batch(&mut self.messages, BURST) => {
                    received.map_err(failed)?;
                    self.renew(script, phase, latency)?;
                }
                () = &mut patience => {
                    patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
                    self.messages.extend(self.window.lost()?.map(|due| request(script, phase, due)));
                }
            }
            self.send().await?;
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
        let Self { connection, window, .. } = self;
        window.begin(requests);
        let now = Instant::now();
        let first = std::iter::from_fn(|| window.fill(now)).map(|due| request(script, phase, due));
        connection.send_batch(first).await.map_err(failed)
    }

    /// Waits for replies and sends the requests that take their place. How many replies there were.
    pub(crate) async fn exchange(
        &mut self,
        script: &mut Script,
        phase: Phase,
        latency: &mut Recorder,
    ) -> Result<usize, Error> {
        let received = self.connection.recv_batch(&mut self.messages, BURST).await.map_err(failed)?;
        self.renew(script, phase, latency)?;
        self.send().await?;
        Ok(received)
    }

    /// How many requests have no reply yet.
    pub(crate) fn on_the_way(&self) -> u64 {
        self.window.on_the_way()
    }

    /// Puts the next requests in the place of the replies that have arrived.
    fn renew(&mut self, script: &mut Script, phase: Phase, latency: &mut Recorder) -> Result<(), Error> {
        let Self { window, messages, .. } = self;
        let (now, mut refused) = (Instant::now(), Ok(()));
        messages.retain_mut(|message| match window.reply(message, now, latency) {
            Ok(Some(due)) => {
                replace(message, script, phase, due);
                true
            }
            Ok(None) => false,
            Err(error) => {
                refused = Err(error);
                false
            }
        });
        refused
    }

    async fn send(&mut self) -> Result<(), Error> {
        self.connection.send_batch(self.messages.drain(..)).await.map_err(failed)
    }

    pub(crate) async fn close(&self) -> Result<(), Error> {
        self.connection.close().await.map_err(failed)
    }
}

fn request(script: &mut Script, phase: Phase, due: Due) -> Message {
    Message { id: due.id, ..script.request(phase, due.position).clone() }
}

/// Turns a reply into the next request, whose key goes where the reply's was.
fn replace(message: &mut Message, script: &mut Script, phase: Phase, due: Due) {
    let template = script.request(phase, due.position);
    message.key.clone_from(&template.key);
    message.id = due.id;
    message.body.clone_from(&template.body);
}

fn failed(error: bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "talking to the store")(error)
}
