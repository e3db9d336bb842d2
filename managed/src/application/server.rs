//! The server of a service.

use super::handle::Handle;
use super::incoming::Incoming;
use super::link::Link;
use super::under_way::UnderWay;
use crate::Descriptor;
use crate::method::Service;
use bertha_core::{Buf, Connection, Error};
use bertha_datapath_shm::heap::Heap;
use bertha_runtime::tokio::{Task, TokioRuntime};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A server of a service, whose calls come through the daemon.
#[derive(Debug)]
pub struct Server<S> {
    link: Arc<Link>,
    received: VecDeque<Buf>,
    _notices: Task,
    service: PhantomData<fn() -> S>,
}

/// What the daemon tells a server.
enum Heard<S> {
    Call(Incoming<S>),
    /// Nobody waits for the call of this number any more.
    Cancellation(u64),
}

impl<S: Service> Server<S> {
    pub(super) fn new(link: Arc<Link>) -> Self {
        let noticing = Arc::clone(&link);
        let task = bertha_core::Runtime::spawn(&TokioRuntime, async move { noticing.send_notices().await });
        Self { link, received: VecDeque::new(), _notices: task, service: PhantomData }
    }

    /// Returns the heap in which responses are made.
    pub fn heap(&self) -> &Heap {
        &self.link.heap
    }

    /// Waits for the next call. The future is cancellation-safe.
    ///
    /// # Errors
    /// The error with which the connection to the daemon has ended.
    pub async fn next(&mut self) -> Result<Incoming<S>, Error> {
        loop {
            if let Heard::Call(call) = self.hear().await? {
                return Ok(call);
            }
        }
    }

    /// Serves calls, each in a task of its own, until the connection to the daemon ends; returns the error with which it ended. The application
    /// has to attach again then, by [`Attach::server`](super::Attach::server), which waits for the next daemon. At most 1,024
    /// calls are under way, of which a caller has no more than it leaves free, and so half of them while it is alone; other calls wait. A call
    /// that its caller has given up, or whose deadline passes, is dropped at the next `await` of its handler, and so are all when the future
    /// is: their callers get failures.
    pub async fn serve(mut self, handler: impl Handle<S>) -> Error {
        let mut calls = UnderWay::new(handler);
        loop {
            tokio::select! {
                heard = self.hear() => match heard {
                    Ok(Heard::Call(call)) => calls.begin(call),
                    Ok(Heard::Cancellation(call)) => calls.cancel(call),
                    Err(error) => return error,
                },
                () = calls.ended() => {}
            }
        }
    }

    /// Waits for a call, or the end of one. The future is cancellation-safe.
    async fn hear(&mut self) -> Result<Heard<S>, Error> {
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
