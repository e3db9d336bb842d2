//! One future's visits to a shared port.

use crate::config::Polling;
use crate::demux::{Owner, Ticket};
use crate::device::{Device, State};
use std::pin::pin;
use std::task::{Context, Poll, ready};
use tokio::task::coop::poll_proceed;
use tokio::task::yield_now;

/// How often a poll that waits asks the port before it lets other tasks run: for about a microsecond. A message is noticed
/// sooner than if each attempt went through the scheduler, which asks the system for events each time.
const ATTEMPTS: u32 = 32;

/// How often one poll receives for others before it lets other tasks run.
const ROUNDS: u32 = 16;

/// After so many polls without a frame, each round through the scheduler also gives the processor away, in case that who is to
/// send has none.
const IDLE: u32 = 4 * ATTEMPTS;

/// One future's attempts to get what it waits for, polling for all where nobody else does.
pub(crate) struct Visit<'a> {
    device: &'a Device,
    ticket: Ticket,
}

impl<'a> Visit<'a> {
    #[inline]
    pub(crate) fn new(device: &'a Device, owner: Owner) -> Self {
        Self { device, ticket: Ticket::new(owner) }
    }

    #[inline]
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut take: impl FnMut(&mut State) -> Option<T>,
    ) -> Poll<T> {
        // Else a connection that always has a message would starve the other tasks of its thread.
        let budget = ready!(poll_proceed(cx));
        let (device, inline) = (self.device, self.device.polling() == Polling::Inline);
        let (mut attempts, mut rounds) = (0, 0);
        loop {
            let mut state = device.lock();
            if let Some(taken) = take(&mut state) {
                state.demux.leave(&mut self.ticket);
                device.release(state);
                budget.made_progress();
                return Poll::Ready(taken);
            }
            if !inline || attempts == ATTEMPTS || rounds == ROUNDS {
                return self.wait(cx, state, inline);
            }
            if state.poll(&device.pool()) == 0 {
                attempts += 1;
            } else {
                rounds += 1;
            }
            // At once, so that nobody waits for what is there.
            if let Some(taken) = take(&mut state) {
                state.demux.leave(&mut self.ticket);
                device.release(state);
                budget.made_progress();
                return Poll::Ready(taken);
            }
            if !self.leads_next(&mut state, cx) {
                device.release(state);
                return Poll::Pending;
            }
            device.release(state);
        }
    }

    /// Whether to poll on, once the first attempt has failed: only who leads does.
    fn leads_next(&mut self, state: &mut State, cx: &Context<'_>) -> bool {
        state.demux.wait(&mut self.ticket, cx.waker(), true)
    }

    fn wait<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut state: parking_lot::MutexGuard<'_, State>,
        inline: bool,
    ) -> Poll<T> {
        let leads = state.demux.wait(&mut self.ticket, cx.waker(), inline);
        let idle = state.idle;
        self.device.release(state);
        if leads {
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
    fn drop(&mut self) {
        if self.ticket.waits() {
            let mut state = self.device.lock();
            state.demux.leave(&mut self.ticket);
            self.device.release(state);
        }
    }
}
