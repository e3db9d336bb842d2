//! The calls of a client that are under way, at one daemon after another.

use super::again::{Again, GONE};
use super::link::Link;
use crate::{Descriptor, InHeap};
use bertha_chunnels::rpc::{Failure, FailureKind};
use bertha_core::{Connection, Error};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::oneshot;

/// The calls under way, which all go to one daemon.
#[derive(Debug)]
pub(super) struct Calls {
    state: Mutex<State>,
    /// The number of the next call. No number comes twice, whatever daemon has the call.
    next: AtomicU64,
}

#[derive(Debug)]
struct State {
    /// The attachment; the last one while there is none.
    link: Arc<Link>,
    open: HashMap<u64, oneshot::Sender<Outcome>>,
    /// The reason why there is no attachment.
    away: Option<Arc<str>>,
}

/// The end of a call, as the daemon tells of it.
#[derive(Debug)]
pub(super) enum Outcome {
    Response(InHeap),
    Failure { kind: FailureKind, may_have_run: bool, reason: InHeap },
}

/// A call that waits for its outcome.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) number: u64,
    /// The attachment at which the call is under way.
    pub(super) link: Arc<Link>,
    /// Fails if the attachment ends.
    pub(super) outcome: oneshot::Receiver<Outcome>,
}

impl Calls {
    pub(super) fn new(link: Arc<Link>) -> Self {
        let state = State { link, open: HashMap::new(), away: None };
        Self { state: Mutex::new(state), next: AtomicU64::new(0) }
    }

    /// Returns the attachment; the last one while there is none.
    pub(super) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.state.lock().link)
    }

    /// Begins a call, unless no daemon is there.
    pub(super) fn begin(&self) -> Result<Begun, Failure> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, outcome) = oneshot::channel();
        let mut state = self.state.lock();
        if let Some(reason) = &state.away {
            return Err(disconnected(reason).before_running());
        }
        state.open.insert(number, sender);
        Ok(Begun { number, link: Arc::clone(&state.link), outcome })
    }

    /// Forgets a call. Returns true if it had no outcome.
    pub(super) fn forget(&self, call: u64) -> bool {
        self.state.lock().open.remove(&call).is_some()
    }

    /// Receives outcomes and sends notices, at one daemon after another.
    pub(super) async fn run(&self, mut again: Again) {
        loop {
            let link = self.link();
            let error = tokio::select! {
                error = self.receive(&link) => Some(error),
                () = link.send_notices() => None,
            };
            tracing::info!(error = error.map(tracing::field::display), "a client has lost its daemon");
            link.end();
            // Until there is another, the client has the link for its heap alone.
            drop(link);
            self.leave();
            let link = again.attach(|reason| self.state.lock().away = Some(reason.into())).await;
            let mut state = self.state.lock();
            let last = mem::replace(&mut state.link, link);
            state.away = None;
            drop(state);
            // The lock is free while the last heap is unmapped.
            drop(last);
        }
    }

    /// Fails all calls under way: the callers' ends of the channels do.
    fn leave(&self) {
        let mut state = self.state.lock();
        state.away = Some(GONE.into());
        let ended = mem::take(&mut state.open);
        drop(state);
        drop(ended);
    }

    async fn receive(&self, link: &Link) -> Error {
        let mut burst = Vec::new();
        loop {
            if let Err(error) = link.queue.recv_batch(&mut burst, 64).await {
                return error;
            }
            for bytes in burst.drain(..) {
                if let Err(error) = self.on_descriptor(link, &bytes) {
                    tracing::error!(%error, "the connection to the daemon ends");
                    return error.into();
                }
            }
        }
    }

    fn on_descriptor(&self, link: &Link, bytes: &[u8]) -> std::io::Result<()> {
        let (call, outcome) = match super::descriptor(bytes)? {
            Descriptor::Response { call, message } => (call, Outcome::Response(message)),
            Descriptor::Failure { call, kind, may_have_run, reason } => {
                (call, Outcome::Failure { kind, may_have_run, reason })
            }
            Descriptor::Done(done) => {
                link.on_done(&done);
                return Ok(());
            }
            Descriptor::Grown { bytes } => return link.control.hear_of(bytes),
            Descriptor::Request { .. } | Descriptor::Cancellation { .. } => return Err(super::unexpected()),
        };
        let waiting = self.state.lock().open.remove(&call);
        let unheard = match waiting {
            Some(waiting) => waiting.send(outcome).err(),
            // The caller has cancelled the call, and the outcome was on its way.
            None => Some(outcome),
        };
        if let Some(outcome) = unheard {
            link.give_back(outcome.message());
        }
        Ok(())
    }
}

impl Outcome {
    /// Returns the message that came with it.
    pub(super) fn message(&self) -> InHeap {
        match self {
            Self::Response(message) | Self::Failure { reason: message, .. } => *message,
        }
    }
}

/// Returns the failure of a call without a daemon.
#[cold]
pub(super) fn disconnected(reason: &str) -> Failure {
    Failure::of(FailureKind::Disconnected, reason.to_owned())
}
