//! Reliable, ordered streams of messages over lossy links.
//!
//! A stream is no transport protocol: both ends live in a common structure, and loss is a delay, as by a
//! retransmission, that also holds up everything behind it.

mod end;

pub(super) use end::StreamEnd;

use super::Network;
use crate::queue::{Ending, NotTaken, Queue};
use bertha_core::{Buf, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Number of times that a message is sent before the stream gives up, half a minute after the first time.
pub(super) const ATTEMPTS: u32 = 10;

/// A stream between two ends, numbered 0 (the connecting end) and 1.
pub(super) struct Stream {
    network: Network,
    pub(super) addrs: [SocketAddr; 2],
    /// The outgoing pipe of each end.
    pipes: [Pipe; 2],
    /// True if an end's host was restarted.
    gone: [AtomicBool; 2],
}

/// A direction of the stream.
struct Pipe {
    /// Messages that were sent and have not arrived.
    outbox: Queue<Segment>,
    /// Messages that have arrived and were not received.
    inbox: Queue<Buf>,
    /// True if a delivery is scheduled.
    busy: AtomicBool,
    attempts: AtomicU32,
}

struct Segment {
    due: Duration,
    /// The message; `None` is the end of the stream.
    message: Option<Buf>,
}

/// Returns the time before the stream sends a message for the `attempt`th time.
pub(super) fn backoff(attempt: u32) -> Duration {
    Duration::from_millis(200 << attempt.min(5))
}

impl Stream {
    pub(super) fn new(network: Network, addrs: [SocketAddr; 2]) -> Arc<Self> {
        let queue = network.state().limits.queue;
        let pipe = || Pipe {
            outbox: Queue::new(queue),
            inbox: Queue::new(queue),
            busy: AtomicBool::new(false),
            attempts: AtomicU32::new(0),
        };
        let pipes = [pipe(), pipe()];
        Arc::new(Self { network, addrs, pipes, gone: [const { AtomicBool::new(false) }; 2] })
    }

    /// Carries on with the messages of `end`, unless a delivery is scheduled already.
    fn resume(self: &Arc<Self>, end: usize) {
        if !self.pipes[end].busy.swap(true, Ordering::Relaxed) {
            self.carry(end);
        }
    }

    fn carry(self: &Arc<Self>, end: usize) {
        let pipe = &self.pipes[end];
        loop {
            let due = pipe.outbox.peek(|segment| segment.due);
            // With a full inbox, the receiver resumes.
            let Some(due) = due.filter(|_| !pipe.inbox.is_full()) else {
                pipe.busy.store(false, Ordering::Relaxed);
                return;
            };
            let wait = due.saturating_sub(self.network.runtime().elapsed());
            if !wait.is_zero() {
                return self.carry_after(wait, end);
            }
            if !self.network.state().passes(self.addrs[end].ip(), self.addrs[1 - end].ip()) {
                return self.retry(end);
            }
            pipe.attempts.store(0, Ordering::Relaxed);
            if self.gone[1 - end].load(Ordering::Relaxed) {
                return self
                    .fail(end, Ending { kind: ErrorKind::Reset, context: "the peer's host was restarted" });
            }
            if let Some(segment) = pipe.outbox.try_pop() {
                self.arrive(end, segment);
            }
        }
    }

    fn arrive(&self, end: usize, segment: Segment) {
        let to = self.addrs[1 - end];
        match segment.message {
            Some(message) => {
                self.network.runtime().world.record(b's', u64::from(to.port()), &message);
                self.network.state().counters.delivered += 1;
                // The call fails only if the receiver has closed, and wants no message any more.
                let _unwanted: Result<(), NotTaken> = self.pipes[end].inbox.try_push(message);
            }
            None => {
                self.pipes[end].inbox.end(Ending::CLOSED);
                drop(self.pipes[1 - end].outbox.end_now(Ending::CLOSED));
            }
        }
    }

    fn retry(self: &Arc<Self>, end: usize) {
        let attempt = self.pipes[end].attempts.fetch_add(1, Ordering::Relaxed);
        if attempt < ATTEMPTS {
            self.carry_after(backoff(attempt), end);
        } else {
            self.fail(end, Ending { kind: ErrorKind::TimedOut, context: "the peer acknowledges nothing" });
        }
    }

    fn carry_after(self: &Arc<Self>, delay: Duration, end: usize) {
        let stream = self.clone();
        self.network.runtime().world.after(delay, move || stream.carry(end));
    }

    /// Fails the stream for `end`, which could not send.
    fn fail(&self, end: usize, why: Ending) {
        drop(self.pipes[end].outbox.end_now(why));
        self.pipes[1 - end].inbox.end(why);
    }

    /// Closes the stream at `end`: its messages still arrive, and then the peer learns of the end.
    fn close(self: &Arc<Self>, end: usize) {
        let segment = Segment { due: self.due(end), message: None };
        self.pipes[end].outbox.push_last(segment, Ending::HERE);
        drop(self.pipes[1 - end].inbox.end_now(Ending::HERE));
        self.resume(end);
    }

    /// Takes the host of `end` down.
    pub(super) fn vanish(&self, end: usize, why: Ending) {
        self.gone[end].store(true, Ordering::Relaxed);
        drop(self.pipes[end].outbox.end_now(why));
        drop(self.pipes[1 - end].inbox.end_now(why));
    }

    /// Returns the time at which a message that `end` sends now arrives, if nothing holds it up.
    fn due(&self, end: usize) -> Duration {
        let mut state = self.network.state();
        let link = state.link(self.addrs[end].ip(), self.addrs[1 - end].ip());
        let delay = link.delay + state.rng.up_to(link.jitter);
        drop(state);
        self.network.runtime().elapsed() + delay
    }
}
