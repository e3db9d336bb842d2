//! The server of a service.

use super::handle::Handle;
use super::incoming::Incoming;
use super::link::Link;
use crate::Descriptor;
use crate::method::Service;
use bertha_core::{Buf, Connection, Error};
use bertha_datapath_shm::heap::Heap;
use bertha_runtime::tokio::{Task, TokioRuntime};
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// Number of calls of a server that are under way at once.
const UNDER_WAY: usize = 1024;

/// A server of a service, whose calls come through the daemon.
#[derive(Debug)]
pub struct Server<S> {
    link: Arc<Link>,
    received: VecDeque<Buf>,
    _notices: Task,
    service: PhantomData<fn() -> S>,
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
            while let Some(bytes) = self.received.pop_front() {
                if let Some(incoming) = self.on_descriptor(&bytes)? {
                    return Ok(incoming);
                }
            }
            self.link.queue.recv_batch(&mut self.received, 64).await?;
        }
    }

    /// Serves calls, each in a task of its own, until the connection to the daemon ends; returns the error with which it ended. At most 1,024
    /// calls are under way, and others wait. A call whose deadline passes is dropped, and so are all when the future is: their callers get
    /// failures.
    pub async fn serve(mut self, handler: impl Handle<S>) -> Error {
        let (handler, mut tasks) = (Arc::new(handler), JoinSet::new());
        loop {
            let call = match self.next().await {
                Ok(call) => call,
                Err(error) => return error,
            };
            while tasks.try_join_next().is_some() {}
            if tasks.len() >= UNDER_WAY {
                tasks.join_next().await;
            }
            let handler = Arc::clone(&handler);
            tasks.spawn(async move {
                match call.within() {
                    // A call that is late is dropped, and its caller hears of it.
                    Some(within) => drop(timeout(within, handler.handle(call)).await),
                    None => handler.handle(call).await,
                }
            });
        }
    }

    fn on_descriptor(&self, bytes: &[u8]) -> std::io::Result<Option<Incoming<S>>> {
        match super::descriptor(bytes)? {
            Descriptor::Request { call, method, message, milliseconds } => {
                let within = (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()));
                return Ok(Some(Incoming::new(&self.link, (call, method), message, within)));
            }
            Descriptor::Done(done) => self.link.on_done(&done),
            Descriptor::Grown { bytes } => self.link.control.hear_of(bytes)?,
            // The outcome of a call that nobody waits for is dropped by the daemon.
            Descriptor::Cancellation { .. } => {}
            Descriptor::Response { .. } | Descriptor::Failure { .. } => return Err(super::unexpected()),
        }
        Ok(None)
    }
}
