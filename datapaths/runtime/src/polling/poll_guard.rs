//! The loop in which a future takes, receives, and waits.

use super::demux::{Batched, Demux, Key, ReceiveBatch, Role};
use super::waiters::{Awaited, WaiterKey};
use parking_lot::MutexGuard;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};
use tokio::task::coop::poll_proceed;
use tokio::task::yield_now;

/// Number of times that a poll receives for other connections before it lets other tasks run.
const ROUNDS: u32 = 16;

/// A source of bursts, as a single future sees it: a socket, or a queue of a network card.
///
/// The lock of its state is held for some hundred nanoseconds while messages are sorted in, and never while
/// foreign code runs (wakers, `Extend`). A source that receives by a system call unlocks meanwhile, see
/// [`receive`](Self::receive).
pub trait Source<'a> {
    /// The state that two futures must not use at once.
    type State: 'a;
    /// The key of a connection.
    type Key: Key;
    /// The state that is kept for each connection.
    type Connection;
    /// The content of a batch: single messages, or buffers with several messages.
    type Message: Batched;
    /// The error of a failed call.
    type Error;

    /// Locks the state.
    fn lock(&self) -> MutexGuard<'a, Self::State>;

    /// Returns the demultiplexer in the state.
    fn demux(state: &mut Self::State) -> &mut Demux<Self::Key, Self::Connection>;

    /// Receives once for the future with this key, and sorts the arrived messages: messages of its connection
    /// go into `batch`, all others into the demultiplexer.
    ///
    /// A source that unlocks meanwhile calls [`Demux::begin_receiving`] before and [`Demux::end_receiving`] after.
    fn receive(
        &mut self,
        state: MutexGuard<'a, Self::State>,
        key: &WaiterKey,
        batch: &mut ReceiveBatch<Self::Message>,
    ) -> (MutexGuard<'a, Self::State>, Received<Self::Error>);

    /// Returns the number of futile receives before the future waits. A future that `follows` was woken for a
    /// message or for another future's sake.
    #[inline]
    fn attempts(&mut self, follows: bool) -> u32 {
        let _ = follows;
        1
    }

    /// Records that the future has found a message or connection. `has_waited` tells that an earlier poll of
    /// the future had found nothing.
    #[inline]
    fn on_taken(&mut self, has_waited: bool) {
        let _ = has_waited;
    }

    /// Arms the source for the future, which waits as the poller. Returns `Pending` if the waker of `cx` will
    /// be called once there may be something to receive, and `Ready` if there may be something already.
    /// Unlocks by [`release`], but only after the waker is in the place in which a future that takes over
    /// puts its own waker: otherwise the wrong waker could be left there.
    fn arm(
        &mut self,
        state: MutexGuard<'a, Self::State>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>>;

    /// Lets a waiting future take over from the poller, which leaves: by [`Demux::promote`], or by a poll
    /// thread later.
    fn hand_over(&mut self, state: &mut Self::State);
}

/// Outcome of [`Source::receive`].
#[derive(Debug)]
pub enum Received<E> {
    /// Messages arrived, for any connection or none.
    Messages,
    /// The source was empty.
    Nothing,
    /// The future must not receive; it waits in this role.
    Excluded(Role),
    /// Receiving failed, and the call fails with this error.
    Failed(E),
}

/// A future that waits at a source, and polls it for all futures if no other future does. Dropping the guard
/// gives its place up.
pub struct PollGuard<'a, S: Source<'a>> {
    source: S,
    key: WaiterKey,
    state: std::marker::PhantomData<&'a S::State>,
}

impl<'a, S: Source<'a>> PollGuard<'a, S> {
    /// Creates the guard of a future that is about to wait.
    #[inline]
    pub fn new(source: S, awaited: Awaited) -> Self {
        Self { source, key: WaiterKey::new(awaited), state: std::marker::PhantomData }
    }

    /// Returns the result of `take`, and receives as long as `take` finds nothing. Messages of the future's
    /// own connection that this poll receives come into `batch`, from which `take` has to take them.
    ///
    /// # Errors
    /// Errors of the source.
    #[inline]
    pub fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut ReceiveBatch<S::Message>,
        mut take: impl FnMut(&mut S::State, &mut ReceiveBatch<S::Message>) -> Option<T>,
    ) -> Poll<Result<T, S::Error>> {
        // Without the budget, a connection that always has a message would starve the other tasks of its
        // thread.
        let budget = ready!(poll_proceed(cx));
        let mut rounds = 0;
        let mut attempts = 0;
        let mut state = self.source.lock();
        loop {
            if let Some(taken) = take(&mut state, batch) {
                self.source.on_taken(self.key.waits());
                self.leave(state);
                budget.made_progress();
                return Poll::Ready(Ok(taken));
            }
            if rounds == ROUNDS {
                // Other connections get all messages: the rest of the thread runs before this future goes on.
                let polls = S::demux(&mut state).wait(&mut self.key, cx.waker(), Role::Poller);
                release::<S>(&self.source, state);
                if polls {
                    let _ = pin!(yield_now()).poll(cx);
                }
                budget.made_progress();
                return Poll::Pending;
            }
            let received;
            (state, received) = self.source.receive(state, &self.key, batch);
            match received {
                Received::Messages => (rounds, attempts) = (rounds + 1, 0),
                Received::Nothing => {
                    attempts += 1;
                    let follows = S::demux(&mut state).follows(&self.key);
                    if attempts < self.source.attempts(follows) {
                        release::<S>(&self.source, state);
                        state = self.source.lock();
                        continue;
                    }
                    if !S::demux(&mut state).wait(&mut self.key, cx.waker(), Role::Poller) {
                        release::<S>(&self.source, state);
                        return Poll::Pending;
                    }
                    let armed = ready!(self.source.arm(state, cx));
                    state = self.source.lock();
                    if let Err(error) = armed {
                        self.leave(state);
                        return Poll::Ready(Err(error));
                    }
                    rounds += 1;
                }
                Received::Excluded(role) => {
                    S::demux(&mut state).wait(&mut self.key, cx.waker(), role);
                    release::<S>(&self.source, state);
                    return Poll::Pending;
                }
                Received::Failed(error) => {
                    self.leave(state);
                    budget.made_progress();
                    return Poll::Ready(Err(error));
                }
            }
        }
    }

    /// Returns the result of `take`, and never receives: the method serves sources that other futures or
    /// threads poll.
    pub fn look<T>(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut S::State) -> Option<T>,
    ) -> Poll<T> {
        let mut state = self.source.lock();
        match take(&mut state) {
            Some(taken) => {
                self.leave(state);
                Poll::Ready(taken)
            }
            None => {
                S::demux(&mut state).wait(&mut self.key, cx.waker(), Role::Onlooker);
                release::<S>(&self.source, state);
                Poll::Pending
            }
        }
    }

    /// Ends the wait, and unlocks.
    #[inline]
    fn leave(&mut self, mut state: MutexGuard<'a, S::State>) {
        let demux = S::demux(&mut state);
        demux.leave(&mut self.key);
        if demux.lacks_poller() {
            self.source.hand_over(&mut state);
        }
        release::<S>(&self.source, state);
    }

    #[cold]
    fn give_up(&mut self) {
        let state = self.source.lock();
        self.leave(state);
    }
}

impl<'a, S: Source<'a>> Drop for PollGuard<'a, S> {
    #[inline]
    fn drop(&mut self) {
        if self.key.waits() {
            self.give_up();
        }
    }
}

impl<'a, S: Source<'a>> std::fmt::Debug for PollGuard<'a, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PollGuard").field("key", &self.key).finish_non_exhaustive()
    }
}

/// Unlocks a source's state, then wakes the futures to whose connections messages were delivered.
#[inline]
pub fn release<'a, S: Source<'a>>(source: &S, mut state: MutexGuard<'a, S::State>) {
    if S::demux(&mut state).wakes() {
        wake::<S>(source, state);
    }
}

#[inline(never)]
fn wake<'a, S: Source<'a>>(source: &S, mut state: MutexGuard<'a, S::State>) {
    let mut woken = S::demux(&mut state).take_woken();
    drop(state);
    woken.drain(..).for_each(Waker::wake);
    S::demux(&mut source.lock()).reuse(woken);
}
