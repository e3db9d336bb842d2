//! A call that a server has to answer.
#![allow(unsafe_code)]

use super::lent::Lent;
use super::link::Link;
use crate::method::{Method, Service};
use crate::{Descriptor, InHeap, Trace};
use bertha_chunnels::rpc::Failure;
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::heap::{self, Heap};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A call that waits for its outcome. If it is dropped, the caller gets a failure.
#[derive(Debug)]
pub struct Incoming<S> {
    link: Arc<Link>,
    call: u64,
    method: u32,
    request: InHeap,
    within: Option<Duration>,
    trace: Option<Trace>,
    is_answered: bool,
    /// The message of an outcome of which the daemon was not told.
    unsent: Option<u32>,
    service: PhantomData<fn() -> S>,
}

impl<S: Service> Incoming<S> {
    pub(super) fn new(
        link: &Arc<Link>,
        (call, method): (u64, u32),
        request: InHeap,
        within: Option<Duration>,
        trace: Option<Trace>,
    ) -> Self {
        Self {
            link: Arc::clone(link),
            call,
            method,
            request,
            within,
            trace,
            is_answered: false,
            unsent: None,
            service: PhantomData,
        }
    }

    /// Returns the number of the call.
    pub(super) fn number(&self) -> u64 {
        self.call
    }

    /// Returns the number of the [method](Method::NUMBER).
    pub fn method(&self) -> u32 {
        self.method
    }

    /// Returns the heap in which the response is made.
    pub fn heap(&self) -> &Heap {
        &self.link.heap
    }

    /// Returns the time that was left for the call when the daemon told of it, if its caller gave one.
    pub fn within(&self) -> Option<Duration> {
        self.within
    }

    /// Returns the trace to which the call belongs, with the span that is next above: of the caller, or of a daemon that traces.
    pub fn trace(&self) -> Option<Trace> {
        self.trace
    }

    /// Returns the request, if the call is of this method. The request is lent until the result is dropped; later calls return `None`.
    pub fn request<M: Method<Service = S>>(&mut self) -> Option<Lent<M::Request>> {
        if self.method != M::NUMBER || self.request.at == 0 {
            return None;
        }
        let request = std::mem::take(&mut self.request);
        // SAFETY: the daemon lends the request of the call's method. It is taken once, so its number goes back once.
        unsafe { Lent::new(Arc::clone(&self.link), request) }
    }

    /// Answers the call. The response stays in the heap until the daemon has taken it.
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) if the heap has no room for the response; then the caller gets a failure. The error with which the
    /// connection to the daemon has ended.
    pub async fn respond<M: Method<Service = S>>(mut self, response: M::Response) -> Result<(), Error> {
        if self.method != M::NUMBER {
            return Err(Error::new(ErrorKind::Invalid, "the response is of another method than the call"));
        }
        let message = match self.link.put(response) {
            Ok(message) => message,
            Err(full) => return Err(Error::new(ErrorKind::Exhausted, full.to_string())),
        };
        self.say(Descriptor::Response { call: self.call, message }, message).await
    }

    /// Ends the call with a failure.
    ///
    /// # Errors
    /// The error with which the connection to the daemon has ended.
    pub async fn fail(mut self, failure: &Failure) -> Result<(), Error> {
        let mut text = heap::String::new_in(&self.link.heap);
        // A failure without its text is better than none.
        if text.try_reserve(failure.text().len()).is_ok() {
            text.push_str(failure.text());
        }
        let reason = self.link.put(text).unwrap_or_default();
        let (kind, may_have_run) = (failure.kind(), failure.may_have_run());
        self.say(Descriptor::Failure { call: self.call, kind, may_have_run, reason }, reason).await
    }

    /// Answers the call, or ends it with a failure. A connection to the daemon that has ended is told by the server's next call.
    pub async fn finish<M: Method<Service = S>>(self, outcome: Result<M::Response, Failure>) {
        let told = match outcome {
            Ok(response) => self.respond::<M>(response).await,
            Err(failure) => self.fail(&failure).await,
        };
        if let Err(error) = told {
            tracing::debug!(%error, method = M::NAME, "a call has no outcome of its handler");
        }
    }

    async fn say(&mut self, outcome: Descriptor, message: InHeap) -> Result<(), Error> {
        self.unsent = (message.at != 0).then_some(message.number);
        self.link.send(outcome).await?;
        (self.unsent, self.is_answered) = (None, true);
        Ok(())
    }
}

impl<S> Drop for Incoming<S> {
    fn drop(&mut self) {
        self.link.give_back(self.request);
        if let Some(message) = self.unsent {
            self.link.take_back(message);
        }
        if !self.is_answered {
            self.link.cancel(self.call);
        }
    }
}
