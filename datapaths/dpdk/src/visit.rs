//! One future's visits to a shared port.

use crate::catch::Catch;
use crate::config::Polling;
use crate::demux::{Owner, Ticket};
use crate::device::Device;
use crate::eal::enter_thread;
use crate::state::State;
use parking_lot::MutexGuard;
use std::pin::pin;
use std::task::{Context, Poll, ready};
use tokio::task::coop::{RestoreOnPending, poll_proceed};
use tokio::task::yield_now;

/// How often a poll that waits asks the port before it lets other tasks run: for a microsecond or two. A message is noticed
/// sooner than if each attempt went through the scheduler, which asks the system for events each time.
const ATTEMPTS: u32 = 64;

/// How many of these attempts are made without letting others have the port.
const PER_LOCK: u32 = 8;

/// How often one poll receives for others before it lets other tasks run.
const ROUNDS: u32 = 16;

/// After so many polls without a frame, each round through the scheduler also gives the processor away, in case that who is to
/// send has none.
const IDLE: u32 = 16 * ATTEMPTS;

/// One future's attempts to get what it waits for, polling for all where nobody else does.
pub(crate) struct Visit<'a> {
    device: &'a Device,
    lane: usize,
    ticket: Ticket,
}

impl<'a> Visit<'a> {
    #[inline]
    pub(crate) fn new(device: &'a Device, lane: usize, owner: Owner) -> Self {
        Self { device, lane, ticket: Ticket::new(owner) }
    }

    /// Looks once, and never polls the port: for who polls another lane.
    pub(crate) fn look<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut State) -> Option<T>,
    ) -> Poll<T> {
        let mut state = self.device.lock(self.lane);
        let taken = take(&mut state);
        match taken {
            Some(_) => state.demux.leave(&mut self.ticket),
            None => {
                state.demux.wait(&mut self.ticket, cx.waker(), false);
            }
        }
        self.device.release(state);
        taken.map_or(Poll::Pending, Poll::Ready)
    }

    /// Looks, and polls the port if that is up to it.
    #[inline]
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut State) -> Option<T>,
    ) -> Poll<T> {
        self.poll_catching(cx, &mut Catch::nothing(), |state, _| take(state))
    }

    /// As [`poll`](Self::poll), and has what is polled put into `catch`, from which `take` has to take it.
    #[inline]
    pub(crate) fn poll_catching<T>(
        &mut self,
        cx: &mut Context<'_>,
        catch: &mut Catch<'_>,
        mut take: impl FnMut(&mut State, &mut Catch<'_>) -> Option<T>,
    ) -> Poll<T> {
        // Else a connection that always has a message would starve the other tasks of its thread.
        let budget = ready!(poll_proceed(cx));
        let (device, inline) = (self.device, self.device.polling() == Polling::Inline);
        let pool = device.pool();
        if inline {
            // The port takes a buffer for each frame that it receives, and gives one back for each that it has sent.
            enter_thread();
            device.polls(self.lane);
        }
        let (mut attempts, mut rounds) = (0, 0);
        loop {
            let mut state = device.lock(self.lane);
            if let Some(taken) = take(&mut state, catch) {
                return self.leave(state, budget, taken);
            }
            // Who follows is polled because something has come, or for somebody else's sake; once will do.
            let most = if state.demux.follows(&self.ticket) { 1 } else { ATTEMPTS };
            if !inline || attempts >= most || rounds == ROUNDS {
                return self.wait(cx, state, inline);
            }
            // Several attempts under one lock, which takes as long as an attempt. Others get it in between.
            let received = (0..most.min(PER_LOCK)).find(|_| {
                attempts += 1;
                state.poll(&pool, catch) > 0
            });
            if received.is_some() {
                attempts = 0;
                rounds += 1;
                if let Some(taken) = take(&mut state, catch) {
                    return self.leave(state, budget, taken);
                }
            }
            device.release(state);
        }
    }

    /// Waits no longer, and has found nothing.
    #[cold]
    fn give_up(&mut self) {
        let mut state = self.device.lock(self.lane);
        state.demux.leave(&mut self.ticket);
        self.device.release(state);
    }

    #[inline]
    fn leave<T>(&mut self, mut state: MutexGuard<'_, State>, budget: RestoreOnPending, taken: T) -> Poll<T> {
        state.demux.leave(&mut self.ticket);
        self.device.release(state);
        budget.made_progress();
        Poll::Ready(taken)
    }

    fn wait<T>(&mut self, cx: &mut Context<'_>, mut state: MutexGuard<'_, State>, inline: bool) -> Poll<T> {
        let leads = state.demux.wait(&mut self.ticket, cx.waker(), inline);
        let idle = state.idle;
        self.device.release(state);
        if leads {
            self.device.look_after_another(self.lane);
            if idle >= IDLE {
                std::thread::yield_now();
            }
            // Not `wake_by_ref`: the runtime would poll the woken task many times before it turns to the others, or to its
            // reactor. It is ready at its second poll.
            let _ = pin!(yield_now()).poll(cx);
        }
        Poll::Pending
    }
}

impl Drop for Visit<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.ticket.waits() {
            self.give_up();
        }
    }
}
