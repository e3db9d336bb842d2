//! The caller of a service.
#![allow(unsafe_code)]

use super::lent::Lent;
use super::link::Link;
use crate::method::{Method, Service};
use crate::{Descriptor, InHeap, Trace};
use bertha_chunnels::rpc::{Failure, FailureKind};
use bertha_core::Connection;
use bertha_datapath_shm::heap::{self, Heap};
use bertha_runtime::tokio::{Task, TokioRuntime};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::oneshot;

/// A client of a service, whose calls go through the daemon.
///
/// Any number of tasks call at once. Each call has one outcome. If the daemon ends, each call under way fails once, as
/// [`Disconnected`](FailureKind::Disconnected), and so does each later one: the application has to attach again.
#[derive(Debug)]
pub struct Client<S> {
    calls: Arc<Calls>,
    _task: Task,
    service: PhantomData<fn() -> S>,
}

/// The calls under way.
#[derive(Debug)]
struct Calls {
    link: Arc<Link>,
    /// `None` once the connection has ended.
    open: Mutex<Option<HashMap<u64, oneshot::Sender<Outcome>>>>,
    next: AtomicU64,
}

/// The end of a call, as the daemon tells of it.
#[derive(Debug)]
enum Outcome {
    Response(InHeap),
    Failure { kind: FailureKind, may_have_run: bool, reason: InHeap },
}

impl<S: Service> Client<S> {
    pub(super) fn new(link: Arc<Link>) -> Self {
        let calls = Arc::new(Calls { link, open: Mutex::new(Some(HashMap::new())), next: AtomicU64::new(0) });
        let receiving = Arc::clone(&calls);
        let task = bertha_core::Runtime::spawn(&TokioRuntime, async move { receiving.run().await });
        Self { calls, _task: task, service: PhantomData }
    }

    /// Returns the heap in which requests are made.
    pub fn heap(&self) -> &Heap {
        &self.calls.link.heap
    }

    /// Calls a method, and waits for the outcome: without limit, unless a time is given within which the response has to come.
    ///
    /// Dropping the future cancels the call. The request stays in the heap until the daemon has taken it.
    ///
    /// # Errors
    /// A [`Failure`], which tells if the call may have run: of the server, of the operator's policies, of the daemon, or of the time.
    pub async fn call<M: Method<Service = S>>(
        &self,
        request: M::Request,
        within: Option<Duration>,
    ) -> Result<Lent<M::Response>, Failure> {
        self.call_in_trace::<M>(request, within, None).await
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

/// A call under way. Its drop cancels it.
#[derive(Debug)]
struct Call<'a> {
    calls: &'a Calls,
    number: u64,
    request: InHeap,
    outcome: oneshot::Receiver<Outcome>,
    /// True once the daemon knows of the call.
    is_sent: bool,
}

impl<'a> Call<'a> {
    fn begin<R: Send + 'static>(calls: &'a Calls, request: R) -> Result<Self, Failure> {
        let number = calls.next.fetch_add(1, Ordering::Relaxed);
        let (sender, outcome) = oneshot::channel();
        match &mut *calls.open.lock() {
            Some(open) => open.insert(number, sender),
            None => return Err(disconnected().before_running()),
        };
        match calls.link.put(request) {
            Ok(request) => Ok(Call { calls, number, request, outcome, is_sent: false }),
            Err(_full) => {
                calls.forget(number);
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
            call: self.number,
            method: M::NUMBER,
            message: self.request,
            milliseconds: within,
            trace,
        };
        self.calls.link.send(request).await.map_err(|_| disconnected().before_running())?;
        self.is_sent = true;
        let outcome = (&mut self.outcome).await;
        let link = &self.calls.link;
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
            Err(_) => Err(disconnected().after_running()),
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        let was_open = self.calls.forget(self.number);
        if !self.is_sent {
            self.calls.link.take_back(self.request.number);
        } else if was_open {
            self.calls.link.cancel(self.number);
        } else if let Ok(outcome) = self.outcome.try_recv() {
            // The outcome came, and nobody has looked at it.
            self.calls.link.give_back(outcome.message());
        }
    }
}

impl Outcome {
    /// Returns the message that came with it.
    fn message(&self) -> InHeap {
        match self {
            Self::Response(message) | Self::Failure { reason: message, .. } => *message,
        }
    }
}

impl Calls {
    /// Receives outcomes and sends notices, until the connection ends.
    async fn run(&self) {
        tokio::select! {
            () = self.receive() => {}
            () = self.link.send_notices() => {}
        }
        // The callers' ends of the channels fail.
        self.open.lock().take();
    }

    async fn receive(&self) {
        let mut burst = Vec::new();
        while let Ok(_count) = self.link.queue.recv_batch(&mut burst, 64).await {
            for bytes in burst.drain(..) {
                if let Err(error) = self.on_descriptor(&bytes) {
                    tracing::error!(%error, "the connection to the daemon ends");
                    return;
                }
            }
        }
    }

    fn on_descriptor(&self, bytes: &[u8]) -> std::io::Result<()> {
        let (call, outcome) = match super::descriptor(bytes)? {
            Descriptor::Response { call, message } => (call, Outcome::Response(message)),
            Descriptor::Failure { call, kind, may_have_run, reason } => {
                (call, Outcome::Failure { kind, may_have_run, reason })
            }
            Descriptor::Done(done) => {
                self.link.on_done(&done);
                return Ok(());
            }
            Descriptor::Grown { bytes } => return self.link.control.hear_of(bytes),
            Descriptor::Request { .. } | Descriptor::Cancellation { .. } => return Err(super::unexpected()),
        };
        let waiting = self.open.lock().as_mut().and_then(|open| open.remove(&call));
        let unheard = match waiting {
            Some(waiting) => waiting.send(outcome).err(),
            // The caller has cancelled the call, and the outcome was on its way.
            None => Some(outcome),
        };
        if let Some(outcome) = unheard {
            self.link.give_back(outcome.message());
        }
        Ok(())
    }

    /// Forgets a call. Returns true if it had no outcome.
    fn forget(&self, call: u64) -> bool {
        self.open.lock().as_mut().is_some_and(|open| open.remove(&call).is_some())
    }
}

#[cold]
fn disconnected() -> Failure {
    Failure::of(FailureKind::Disconnected, "the daemon has ended; the application has to attach again")
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
