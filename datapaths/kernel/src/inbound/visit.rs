//! One future's visit to a shared socket.

use super::Source;
use super::demux::{Demux, Owner, Reactor, Ticket};
use super::endpoint::Endpoint;
use super::io::Io;
use crate::Waiting;
use bertha_core::{Error, ErrorKind};
use parking_lot::MutexGuard;
use std::io;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};
use tokio::task::coop::poll_proceed;
use tokio::task::yield_now;

/// How often one poll receives for others before it lets other tasks run.
const ROUNDS: usize = 16;

/// How often a poll that spins asks the kernel before it lets other tasks run. A message is noticed sooner than if each
/// attempt went through the scheduler, and others wait for little more than a microsecond.
const ATTEMPTS: u32 = 4;

/// How the endpoint waits, as its demultiplexer sees it.
struct Readiness<'a, S>(&'a S, Waiting);

impl<S: Source> Reactor for Readiness<'_, S> {
    fn register(&self, waker: &Waker) -> Poll<io::Result<()>> {
        match self.1 {
            // Whoever leads polls; see `Visit::spins`.
            Waiting::Spin => Poll::Ready(Ok(())),
            Waiting::Park | Waiting::Adaptive { .. } => {
                self.0.io().poll_readable(&mut Context::from_waker(waker))
            }
        }
    }
}

/// A leader that spins: it is polled again without the reactor's help.
struct Spinning;

impl Reactor for Spinning {
    fn register(&self, waker: &Waker) -> Poll<io::Result<()>> {
        // Not `wake_by_ref`: the runtime would poll the woken task many times before it turns to the others, or to the
        // reactor.
        pin!(yield_now()).poll(&mut Context::from_waker(waker)).map(Ok)
    }
}

/// A leader whose waker the reactor has already.
struct Registered;

impl Reactor for Registered {
    fn register(&self, _: &Waker) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

/// How far an adaptive wait is.
#[derive(Debug, Clone, Copy)]
enum Spin {
    /// It has not begun.
    Before,
    /// It spins until then.
    Until(Instant),
    /// It parks.
    Not,
}

/// One future's attempts to get what it waits for, receiving for all where nobody else does.
pub(super) struct Visit<'a, S: Source> {
    endpoint: &'a Endpoint<S>,
    ticket: Ticket,
    owner: Owner,
    spin: Spin,
}

impl<'a, S: Source> Visit<'a, S> {
    #[inline]
    pub(super) fn new(endpoint: &'a Endpoint<S>, owner: Owner) -> Self {
        Self { endpoint, ticket: Ticket::new(owner), owner, spin: Spin::Before }
    }

    pub(super) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut Demux<S::Peer>) -> Option<T>,
    ) -> Poll<Result<T, Error>> {
        let endpoint = self.endpoint;
        // Else a connection that always has a message would starve the other tasks of its thread.
        let budget = ready!(poll_proceed(cx));
        let mut demux = endpoint.demux.lock();
        let mut spins = None;
        let mut attempts = 0;
        for _ in 0..ROUNDS {
            if let Some(taken) = take(&mut demux) {
                // It was polled before and found nothing.
                if self.ticket.waits() && matches!(self.spin, Spin::Until(_)) {
                    endpoint.profit.hit();
                }
                self.depart(demux);
                budget.made_progress();
                return Poll::Ready(Ok(taken));
            }
            let spins = *spins.get_or_insert_with(|| self.spins());
            if !spins && demux.may_lead(&self.ticket) && endpoint.socket.io().poll_readable(cx).is_pending() {
                // The reactor knows that nothing is there: not worth an attempt.
                let _ = demux.lead(&mut self.ticket, cx.waker(), &Registered);
                endpoint.release(demux);
                return Poll::Pending;
            }
            if !demux.begin() {
                demux.follow(&mut self.ticket, cx.waker());
                endpoint.release(demux);
                return Poll::Pending;
            }
            let outcome;
            (demux, outcome) = self.receive(demux, spins);
            let Err(error) = outcome else { continue };
            if error.kind() == io::ErrorKind::WouldBlock {
                attempts += 1;
                if spins && attempts < ATTEMPTS {
                    continue;
                }
                let led = if spins {
                    demux.lead(&mut self.ticket, cx.waker(), &Spinning)
                } else {
                    let readiness = Readiness(&*endpoint.socket, Waiting::Park);
                    demux.lead(&mut self.ticket, cx.waker(), &readiness)
                };
                match led {
                    Poll::Pending => {
                        endpoint.release(demux);
                        return Poll::Pending;
                    }
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => {
                        self.depart(demux);
                        return Poll::Ready(Err(runtime_ended(error)));
                    }
                }
            } else if endpoint.is_connected() {
                self.depart(demux);
                budget.made_progress();
                return Poll::Ready(Err(own(error)));
            } else {
                tracing::debug!(%error, "receiving failed; the listener goes on");
                demux.counters().errors += 1;
            }
        }
        // Others get everything: let the rest of the thread run, and go on.
        let _ = demux.lead(&mut self.ticket, cx.waker(), &Spinning);
        budget.made_progress();
        endpoint.release(demux);
        Poll::Pending
    }

    /// Receives once without the lock. Returns with it, after everything was delivered.
    fn receive(
        &self,
        demux: MutexGuard<'a, Demux<S::Peer>>,
        eager: bool,
    ) -> (MutexGuard<'a, Demux<S::Peer>>, io::Result<()>) {
        let endpoint = self.endpoint;
        let width = demux.width();
        endpoint.release(demux);
        let mut locked = None;
        let outcome = endpoint.socket.receive(width, eager, |from, stride, messages| {
            locked.get_or_insert_with(|| endpoint.demux.lock()).deliver(from, stride, messages, self.owner);
        });
        let mut demux = locked.unwrap_or_else(|| endpoint.demux.lock());
        let received = outcome.as_ref().copied().unwrap_or_default();
        demux.end(width, received.buffers);
        demux.counters().oversize += received.oversize;
        (demux, outcome.map(drop))
    }

    /// Whether to ask again at once, should nothing be there.
    #[inline]
    fn spins(&mut self) -> bool {
        match self.endpoint.waiting {
            Waiting::Park => false,
            Waiting::Spin => true,
            Waiting::Adaptive { spin_for } => self.spins_for(spin_for),
        }
    }

    fn spins_for(&mut self, spin_for: Duration) -> bool {
        match self.spin {
            Spin::Not => false,
            Spin::Before => {
                let expected = self.endpoint.profit.expected();
                self.spin = if expected { Spin::Until(Instant::now() + spin_for) } else { Spin::Not };
                expected
            }
            Spin::Until(deadline) if Instant::now() < deadline => true,
            Spin::Until(_) => {
                self.endpoint.profit.missed();
                self.spin = Spin::Not;
                false
            }
        }
    }

    #[inline]
    fn depart(&mut self, mut demux: MutexGuard<'_, Demux<S::Peer>>) {
        let endpoint = self.endpoint;
        demux.leave(&mut self.ticket, &Readiness(&*endpoint.socket, endpoint.waiting));
        endpoint.release(demux);
    }
}

impl<S: Source> Drop for Visit<'_, S> {
    fn drop(&mut self) {
        if self.ticket.waits() {
            self.depart(self.endpoint.demux.lock());
        }
    }
}

/// An error as its source made it, or made of the kernel's.
#[cold]
fn own(error: io::Error) -> Error {
    error.downcast::<Error>().unwrap_or_else(Error::from)
}

#[cold]
fn runtime_ended(error: io::Error) -> Error {
    Error::new(ErrorKind::Closed, "the tokio runtime on which the socket was opened has ended").because(error)
}
