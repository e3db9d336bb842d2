//! The loop in which a future takes, receives, and waits.

use crate::demux::{Batched, Demux, Key, ReceiveBatch, Role};
use crate::waiters::{Awaited, WaiterKey};
use parking_lot::MutexGuard;
use std::pin::pin;
use std::task::{Context, Poll, Waker, ready};
use tokio::task::coop::poll_proceed;
use tokio::task::yield_now;

/// How often one poll receives for others before it lets other tasks run.
const ROUNDS: u32 = 16;

/// A source of bursts, as one future sees it: a socket, or a queue of a network card.
///
/// The lock of its state is held while messages are sorted in, for some hundred nanoseconds, and never while foreign code runs
/// (wakers, `Extend`). A source whose receiving is a system call unlocks meanwhile, see [`receive`](Self::receive).
pub trait Source<'a> {
    /// Everything that two futures must not use at once.
    type State: 'a;
    /// The name of a connection.
    type Key: Key;
    /// The state that is kept for each connection.
    type Connection;
    /// The content of a batch: single messages, or buffers of them.
    type Message: Batched;
    /// An error that ends a call.
    type Error;

    /// Locks the state.
    fn lock(&self) -> MutexGuard<'a, Self::State>;

    /// The demultiplexer in the state.
    fn demux(state: &mut Self::State) -> &mut Demux<Self::Key, Self::Connection>;

    /// Receives once for the future with this key, and sorts the messages that arrived: those of that connection into `batch`, the others into the demultiplexer.
    ///
    /// A source that unlocks meanwhile calls [`Demux::begin_receiving`] before and [`Demux::end_receiving`] after.
    fn receive(
        &mut self,
        state: MutexGuard<'a, Self::State>,
        key: &WaiterKey,
        batch: &mut ReceiveBatch<Self::Message>,
    ) -> (MutexGuard<'a, Self::State>, Received<Self::Error>);

    /// How often to receive in vain before waiting. A future that `follows` was woken for a message or for another's sake.
    #[inline]
    fn attempts(&mut self, follows: bool) -> u32 {
        let _ = follows;
        1
    }

    /// The future has found a message or connection, after an earlier poll of it had found nothing if `has_waited`.
    #[inline]
    fn on_taken(&mut self, has_waited: bool) {
        let _ = has_waited;
    }

    /// The future waits as the one that polls. `Pending` if the waker of `cx` will be called once there may be something to
    /// receive, `Ready` if there may be already. Unlocks by [`release`], and not before the waker is where a future that takes
    /// over puts its own: in another order, the wrong one could be left there.
    fn arm(
        &mut self,
        state: MutexGuard<'a, Self::State>,
        cx: &mut Context<'_>,
    ) -> Poll<Result<(), Self::Error>>;

    /// The future that polled leaves, and others wait. Sees to one of them with [`Demux::promote`], or leaves that to a poll
    /// thread.
    fn hand_over(&mut self, state: &mut Self::State);
}

/// The outcome of [`Source::receive`].
#[derive(Debug)]
pub enum Received<E> {
    /// Something arrived, for any connection or none.
    Messages,
    /// Nothing was there.
    Nothing,
    /// It is not up to this future to receive; it waits in this role.
    Excluded(Role),
    /// Receiving failed, and the call with it.
    Failed(E),
}

/// One future that waits at a source, and polls it for all where no other does. Dropping it gives its place up.
pub struct PollGuard<'a, S: Source<'a>> {
    source: S,
    key: WaiterKey,
    state: std::marker::PhantomData<&'a S::State>,
}

impl<'a, S: Source<'a>> PollGuard<'a, S> {
    /// For a future that is about to wait.
    #[inline]
    pub fn new(source: S, awaited: Awaited) -> Self {
        Self { source, key: WaiterKey::new(awaited), state: std::marker::PhantomData }
    }

    /// Returns the result of `take`, and receives as long as that finds nothing. Messages of the connection that this poll receives
    /// come into `batch`, from which `take` has to take them.
    ///
    /// # Errors
    /// Those of the source.
    #[inline]
    pub fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        batch: &mut ReceiveBatch<S::Message>,
        mut take: impl FnMut(&mut S::State, &mut ReceiveBatch<S::Message>) -> Option<T>,
    ) -> Poll<Result<T, S::Error>> {
        // Else a connection that always has a message would starve the other tasks of its thread.
        let budget = ready!(poll_proceed(cx));
        let (mut rounds, mut attempts) = (0, 0);
        let mut state = self.source.lock();
        loop {
            if let Some(taken) = take(&mut state, batch) {
                self.source.on_taken(self.key.waits());
                self.leave(state);
                budget.made_progress();
                return Poll::Ready(Ok(taken));
            }
            if rounds == ROUNDS {
                // Others get everything: the rest of the thread runs before this goes on.
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

    /// Returns the result of `take`, and never receives: for a source that other futures or threads poll.
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

    /// Waits no longer, and unlocks.
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

/// Unlocks a source's state, then wakes the futures that others' messages were delivered to.
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
