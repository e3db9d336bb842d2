//! The server of a service.

use super::again::{Again, Returning};
use super::entry::Entry;
use super::handle::Handle;
use super::incoming::Incoming;
use super::link::Link;
use super::under_way::UnderWay;
use crate::Descriptor;
use crate::method::Service;
use bertha_core::{Buf, Connection, Error};
use bertha_runtime::tokio::{Task, TokioRuntime};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;

/// A server of a service, whose calls come through the daemon.
///
/// When the daemon ends, the server attaches again to the next one by itself, under the same name, and waits for it without end.
#[derive(Debug)]
pub struct Server<S> {
    link: Arc<Link>,
    received: VecDeque<Buf>,
    notices: Task,
    again: Arc<Mutex<Again>>,
    /// True while the server is not attached.
    has_ended: bool,
    returning: Option<Returning>,
    service: PhantomData<fn() -> S>,
}

/// A word of the daemon to a server.
enum Heard<S> {
    Call(Incoming<S>),
    /// Nobody waits for the call of this number any more.
    Cancellation(u64),
}

impl<S: Service> Server<S> {
    pub(super) fn new(link: Arc<Link>, entry: Entry) -> Self {
        Self {
            notices: notices(&link),
            link,
            received: VecDeque::new(),
            again: Arc::new(Mutex::new(Again::new(entry))),
            has_ended: false,
            returning: None,
            service: PhantomData,
        }
    }

    /// Waits for the next call. The future is cancellation-safe.
    ///
    /// # Errors
    /// The error with which the connection to the daemon has ended, once: the calls that came before have failed. The next call of this method
    /// attaches again, and waits for a daemon without end.
    pub async fn next(&mut self) -> Result<Incoming<S>, Error> {
        loop {
            if let Heard::Call(call) = self.hear().await? {
                return Ok(call);
            }
        }
    }

    /// Serves calls, each in a task of its own, at one daemon after another, until the future is dropped. At most 1,024
    /// calls are under way, of which a caller has no more than it leaves free, and so half of them while it is alone; the last eighth is for
    /// callers without a call; other calls wait. A call that its caller has given up, or whose deadline passes, is dropped at the next `await`
    /// of its handler, and so are all when the daemon ends, or when the future is dropped: their callers get failures.
    pub async fn serve(mut self, handler: impl Handle<S>) -> Infallible {
        let handler = Arc::new(handler);
        loop {
            // The next daemon has calls of the same numbers.
            let mut calls = UnderWay::new(Arc::clone(&handler));
            let error = loop {
                tokio::select! {
                    heard = self.hear() => match heard {
                        Ok(Heard::Call(call)) => calls.begin(call),
                        Ok(Heard::Cancellation(call)) => calls.cancel(call),
                        Err(error) => break error,
                    },
                    () = calls.ended() => {}
                }
            };
            tracing::info!(%error, service = S::NAME, "a server has lost its daemon");
        }
    }

    /// Waits for a call, or the end of one; attaches again before, if the daemon has ended. The future is cancellation-safe.
    async fn hear(&mut self) -> Result<Heard<S>, Error> {
        while self.has_ended {
            self.attach_again().await;
        }
        let heard = self.hear_of_call().await;
        if heard.is_err() {
            self.has_ended = true;
            self.link.end();
            self.received.clear();
        }
        heard
    }

    async fn attach_again(&mut self) {
        let again = &self.again;
        let returning = self.returning.get_or_insert_with(|| Returning::begin(Arc::clone(again)));
        let link = (&mut returning.link).await;
        self.returning = None;
        // Without a link the runtime of the task has ended, and this one is another.
        if let Ok(link) = link {
            (self.notices, self.link, self.has_ended) = (notices(&link), link, false);
        }
    }

    async fn hear_of_call(&mut self) -> Result<Heard<S>, Error> {
        loop {
            while let Some(bytes) = self.received.pop_front() {
                if let Some(heard) = self.on_descriptor(&bytes)? {
                    return Ok(heard);
                }
            }
            self.link.queue.recv_batch(&mut self.received, 64).await?;
        }
    }

    fn on_descriptor(&self, bytes: &[u8]) -> std::io::Result<Option<Heard<S>>> {
        match super::descriptor(bytes)? {
            Descriptor::Request { call, method, message, milliseconds, trace } => {
                let within = (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()));
                let call = Incoming::new(&self.link, (call, method), message, within, trace);
                return Ok(Some(Heard::Call(call)));
            }
            Descriptor::Done(done) => self.link.on_done(&done),
            Descriptor::Grown { bytes } => self.link.control.hear_of(bytes)?,
            Descriptor::Cancellation { call } => return Ok(Some(Heard::Cancellation(call))),
            Descriptor::Response { .. } | Descriptor::Failure { .. } => return Err(super::unexpected()),
        }
        Ok(None)
    }
}

/// Begins to send the notices of an attachment.
fn notices(link: &Arc<Link>) -> Task {
    let link = Arc::clone(link);
    bertha_core::Runtime::spawn(&TokioRuntime, async move { link.send_notices().await })
}
