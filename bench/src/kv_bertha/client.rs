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
        let Self { connection, window, messages } = self;
        window.begin(requests);
        let now = Instant::now();
        let first = std::iter::from_fn(|| window.fill(now)).map(|due| request(script, phase, due));
        connection.send_batch(first).await.map_err(failed)?;

        let mut patience = pin!(sleep(PATIENCE));
        while !window.is_over() {
            tokio::select! {
                biased;
                received = connection.recv_batch(messages, BURST) => { received.map_err(failed)?; }
                () = &mut patience => {
                    patience.as_mut().reset(tokio::time::Instant::now() + PATIENCE);
                    messages.extend(window.lost()?.map(|due| request(script, phase, due)));
                    connection.send_batch(messages.drain(..)).await.map_err(failed)?;
                    continue;
                }
            }
            let now = Instant::now();
            let mut refused = Ok(());
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
            refused?;
            connection.send_batch(messages.drain(..)).await.map_err(failed)?;
        }
        Ok(())
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
