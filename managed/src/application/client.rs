//! The caller of a service.
#![allow(unsafe_code)]

use super::again::Again;
use super::calls::{Begun, Calls, Outcome, disconnected};
use super::entry::Entry;
use super::lent::Lent;
use super::link::Link;
use crate::method::{Method, Service};
use crate::{Descriptor, InHeap, Trace};
use bertha_chunnels::rpc::{Failure, FailureKind, spans};
use bertha_datapath_shm::heap::{self, Heap};
use bertha_runtime::tokio::{Task, TokioRuntime};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A client of a service, whose calls go through the daemon.
///
/// Any number of tasks call at once. Each call has one outcome.
///
/// # The end of the daemon
/// If the daemon ends, each call under way fails once, as [`Disconnected`](FailureKind::Disconnected), and the client attaches again by itself:
/// at once, and then after pauses of up to a quarter of a second, for as long as it lives. Until it is attached, calls fail at once as
/// `Disconnected`, and did not run; their text has the reason if a daemon is there that does not take the application. Responses that are
/// held stay as they are.
#[derive(Debug)]
pub struct Client<S> {
    calls: Arc<Calls>,
    _task: Task,
    service: PhantomData<fn() -> S>,
}

impl<S: Service> Client<S> {
    pub(super) fn new(link: Arc<Link>, entry: Entry) -> Self {
        let (calls, again) = (Arc::new(Calls::new(link)), Again::new(entry));
        let running = Arc::clone(&calls);
        let task = bertha_core::Runtime::spawn(&TokioRuntime, async move { running.run(again).await });
        Self { calls, _task: task, service: PhantomData }
    }

    /// Returns the heap in which requests are made.
    ///
    /// It belongs to the daemon that is there now: after the next attachment it is another. A request that was made in the heap of an earlier one
    /// fails as [`Malformed`](FailureKind::Malformed), and has to be made anew. So the heap is asked for with each request.
    pub fn heap(&self) -> Heap {
        self.calls.link().heap.clone()
    }

    /// Calls a method, and waits for the outcome: without limit, unless a time is given within which the response has to come.
    ///
    /// Dropping the future cancels the call. The request stays in the heap until the daemon has taken it. With the feature `opentelemetry` the
    /// call is a span, and takes the trace of the span in use along.
    ///
    /// # Errors
    /// A [`Failure`], which tells if the call may have run: of the server, of the operator's policies, of the daemon, or of the time.
    pub async fn call<M: Method<Service = S>>(
        &self,
        request: M::Request,
        within: Option<Duration>,
    ) -> Result<Lent<M::Response>, Failure> {
        let call = async move { self.call_in_trace::<M>(request, within, spans::of_caller()).await };
        spans::calling(Some(<M::Service as Service>::NAME), M::NAME, call).await
    }

    /// Calls a method as [`call`](Self::call) does, as a part of a trace, which the server [has](super::Incoming::trace) then, too.
    ///
    /// # Errors
    /// The errors of [`call`](Self::call).
    pub async fn call_in_trace<M: Method<Service = S>>(
        &self,
        request: M::Request,
        within: Option<Duration>,
        trace: Option<Trace>,
    ) -> Result<Lent<M::Response>, Failure> {
        let mut call = Call::begin(&self.calls, request)?;
        let waiting = call.outcome::<M>(within, trace);
        match within {
            None => waiting.await,
            Some(within) => match tokio::time::timeout(within, waiting).await {
                Ok(outcome) => outcome,
                Err(_) => Err(Failure::of(FailureKind::TimedOut, "no response came in time")),
            },
        }
    }
}

/// The reason of a call that was under way.
const ENDED: &str = "the daemon has ended";

/// A call under way. Its drop cancels it.
#[derive(Debug)]
struct Call<'a> {
    calls: &'a Calls,
    begun: Begun,
    request: InHeap,
    /// True once the daemon knows of the call.
    is_sent: bool,
}

impl<'a> Call<'a> {
    fn begin<R: Send + 'static>(calls: &'a Calls, request: R) -> Result<Self, Failure> {
        let begun = calls.begin()?;
        match begun.link.put(request) {
            Ok(request) => Ok(Call { calls, begun, request, is_sent: false }),
            Err(_full) => {
                calls.forget(begun.number);
                Err(Failure::of(FailureKind::Overloaded, "the send heap has no room for the request"))
            }
        }
    }

    async fn outcome<M: Method>(
        &mut self,
        within: Option<Duration>,
        trace: Option<Trace>,
    ) -> Result<Lent<M::Response>, Failure> {
        let within = within.map_or(0, |within| u32::try_from(within.as_millis()).unwrap_or(u32::MAX).max(1));
        let request = Descriptor::Request {
            call: self.begun.number,
            method: M::NUMBER,
            message: self.request,
            milliseconds: within,
            trace,
        };
        self.begun.link.send(request).await.map_err(|_| disconnected(ENDED).before_running())?;
        self.is_sent = true;
        let Begun { link, outcome, .. } = &mut self.begun;
        let outcome = outcome.await;
        match outcome {
            // SAFETY: the daemon lends the response of the call's method. A number comes once.
            Ok(Outcome::Response(message)) => match unsafe { Lent::new(Arc::clone(link), message) } {
                Some(response) => Ok(response),
                None => Err(Failure::of(FailureKind::Malformed, "the daemon lends what is no response")
                    .after_running()),
            },
            Ok(Outcome::Failure { kind, may_have_run, reason }) => {
                Err(failure(link, kind, may_have_run, reason))
            }
            Err(_) => Err(disconnected(ENDED).after_running()),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let Begun { number, link, outcome } = &mut self.begun;
        let was_open = self.calls.forget(*number);
        if !self.is_sent {
            link.take_back(self.request.number);
        } else if was_open {
            link.cancel(*number);
        } else if let Ok(outcome) = outcome.try_recv() {
            // The outcome came, and nobody has looked at it.
            link.give_back(outcome.message());
        }
    }
}

/// Returns a failure with the text that the daemon lends.
#[cold]
fn failure(link: &Arc<Link>, kind: FailureKind, may_have_run: bool, reason: InHeap) -> Failure {
    // SAFETY: the daemon lends a text with each failure. A number comes once.
    let text = unsafe { Lent::<heap::String>::new(Arc::clone(link), reason) };
    let text = text.map_or_else(String::new, |text| text.as_str().to_owned());
    let failure = Failure::of(kind, text);
    if may_have_run { failure.after_running() } else { failure.before_running() }
}
