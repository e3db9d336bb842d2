//! The parts of a call that its handler has asked for.

use super::context::{Context, OfPeer};
use super::due::Due;
use super::requests::ArrivedRequests;
use super::waiting::Waiting;
use crate::rpc::message::{CallId, Content};
use crate::rpc::{Failure, FailureKind, Metadata};
use bertha_core::{Buf, Connection, PeerIdentity};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task;
use std::time::Instant;

/// The open calls of a connection whose handlers have asked for their context, or for their stream of requests.
pub(super) struct OpenCalls<'a> {
    connection: &'a dyn OfPeer,
    /// The identity that the server has named.
    named: Option<PeerIdentity>,
    open: Mutex<HashMap<CallId, OpenCall>>,
    /// False for a service that never asks, whose calls pay for this flag alone.
    is_used: AtomicBool,
    /// True once a handler has asked for its requests.
    has_streams: AtomicBool,
    due: Arc<Due>,
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct OpenCall {
    context: Option<Context>,
    requests: Option<Arc<ArrivedRequests>>,
}

impl<'a> OpenCalls<'a> {
    /// Makes them for a connection whose requests may wait for their handlers as `waiting` allows.
    pub(super) fn new(
        connection: &'a impl Connection,
        named: Option<PeerIdentity>,
        waiting: Waiting,
    ) -> Self {
        let (open, is_used, has_streams, due) = Default::default();
        Self { connection, named, open, is_used, has_streams, due, waiting: Arc::new(waiting) }
    }

    /// Returns the context of a call, and makes it if it is asked for the first time.
    pub(super) fn context(&self, call: CallId, deadline: Option<Instant>, metadata: &Metadata) -> Context {
        self.is_used.store(true, Relaxed);
        let make = || {
            let peer = self.named.clone().or_else(|| self.connection.identity());
            Context::new(deadline, peer, self.connection.addr(), metadata.clone())
        };
        self.open.lock().entry(call).or_default().context.get_or_insert_with(make).clone()
    }

    /// Returns the requests of a call behind the first, which has this many bytes. Asked for the second time, they fail.
    pub(super) fn requests(&self, call: CallId, bytes: usize) -> Arc<ArrivedRequests> {
        self.is_used.store(true, Relaxed);
        self.has_streams.store(true, Relaxed);
        let mut open = self.open.lock();
        let requests = &mut open.entry(call).or_default().requests;
        let failed = |failure| ArrivedRequests::failed(call, failure, self.due.clone(), self.waiting.clone());
        if requests.is_some() {
            return Arc::new(failed(Failure::new("the requests of the call were taken already")));
        }
        let arrived = ArrivedRequests::new(call, bytes, self.due.clone(), self.waiting.clone());
        requests.insert(Arc::new(arrived.unwrap_or_else(failed))).clone()
    }

    /// Takes in a request of a stream. Returns false if no call waits for it.
    pub(super) fn on_part(&self, call: CallId, index: u32, part: Buf) -> bool {
        self.arrived(call).is_some_and(|requests| requests.on_part(index, part))
    }

    /// Takes in the end of a stream of requests. Returns false if no call waits for it.
    pub(super) fn on_end(&self, call: CallId, parts: u32) -> bool {
        self.arrived(call).is_some_and(|requests| requests.on_end(parts))
    }

    fn arrived(&self, call: CallId) -> Option<Arc<ArrivedRequests>> {
        self.open.lock().get(&call)?.requests.clone()
    }

    /// Returns true if clients are to learn something about their streams of requests; otherwise `cx` is woken once
    /// they are.
    #[inline]
    pub(super) fn poll_due(&self, cx: &task::Context<'_>) -> bool {
        self.has_streams.load(Relaxed) && self.due.poll(cx).is_ready()
    }

    /// Takes out what clients are to learn about their streams of requests: nothing of a call that is over.
    #[inline]
    pub(super) fn take_due(&self, mut tell: impl FnMut(CallId, Content)) {
        if self.has_streams.load(Relaxed) {
            let due = self.due.take();
            let open = self.open.lock();
            due.into_iter()
                .filter(|(call, _)| open.contains_key(call))
                .for_each(|(call, content)| tell(call, content));
        }
    }

    /// Forgets a call, and returns the trailers that its handler has given.
    #[inline]
    pub(super) fn end(&self, call: CallId) -> Metadata {
        if self.is_used.load(Relaxed) { self.take(call) } else { Metadata::new() }
    }

    #[cold]
    fn take(&self, call: CallId) -> Metadata {
        let Some(OpenCall { context, requests }) = self.open.lock().remove(&call) else {
            return Metadata::new();
        };
        if let Some(requests) = requests {
            requests.end(Failure::new("the call of these requests is over"));
            self.due.forget(call);
        }
        context.map(|context| context.take_trailers()).unwrap_or_default()
    }
}

/// Handlers may have moved their requests to tasks that outlive the connection.
impl Drop for OpenCalls<'_> {
    fn drop(&mut self) {
        for requests in self.open.get_mut().drain().filter_map(|(_, call)| call.requests) {
            requests
                .end(Failure::of(FailureKind::Disconnected, "the connection of these requests has ended"));
        }
    }
}
