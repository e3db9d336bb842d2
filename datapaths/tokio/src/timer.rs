//! One thread of the process that waits for distant deadlines, on behalf of all runtimes.
//!
//! A timer of tokio's that is armed makes each park of its runtime read the clock twice and walk the wheel: an echo between two
//! runtimes takes a fifth longer while each of them merely watches over one idle connection. So distant deadlines lie
//! here, and cost the runtime nothing until then.
//!
//! A task that only waits would also cost as much as every task: aligned memory, a place among the runtime's tasks, and two visits
//! of the scheduler, the last when it is given up. Tasks that keep connections alive have nothing to do for seconds, and most
//! connections end sooner. So until its time a task is an entry in an ordered map.

use crate::delay_queue::{DelayKey, DelayQueue};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// How long the thread stays when nothing waits: starting one takes longer than most handshakes.
const LINGER: Duration = Duration::from_secs(1);

/// The longest time without a look, so that the thread ends although the last entry was cancelled.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The timer of the process.
pub(crate) static TIMER: Timer = Timer::new();

type Later = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A delay queue and the thread that serves it, which is started with the first entry and ends when there have been none for a
/// while.
pub(crate) struct Timer {
    state: Mutex<State>,
    /// Something is due before the thread looks again.
    earlier: Condvar,
}

struct State {
    queue: DelayQueue<Action>,
    /// The tasks that have begun and still have an owner; nothing for the moment in which one begins.
    begun: BTreeMap<DelayKey, Option<AbortHandle>>,
    is_running: bool,
    /// When the thread looks again.
    looks_at: Option<Instant>,
}

/// The action at a deadline.
enum Action {
    /// A task begins on its runtime.
    Begin { task: Later, runtime: Handle },
    /// A future is polled.
    Wake(Waker),
}

impl Timer {
    pub(crate) const fn new() -> Self {
        let state =
            State { queue: DelayQueue::new(), begun: BTreeMap::new(), is_running: false, looks_at: None };
        Self { state: Mutex::new(state), earlier: Condvar::new() }
    }

    /// Has `task` begin at `deadline` on the runtime of the caller. If the process can't have another thread, the task is handed
    /// back.
    ///
    /// # Panics
    /// Outside of a runtime, as tokio does.
    pub(crate) fn begin_at(&'static self, deadline: Instant, task: Later) -> Result<DelayKey, Later> {
        let mut state = self.state();
        if !self.run(&mut state) {
            return Err(task);
        }
        let key = state.queue.insert(deadline, Action::Begin { task, runtime: Handle::current() });
        self.look_earlier(state, deadline);
        Ok(key)
    }

    /// Has `waker` called at `deadline`; at once if the process can't have another thread.
    fn wake_at(&'static self, deadline: Instant, waker: &Waker) -> DelayKey {
        let mut state = self.state();
        let runs = self.run(&mut state);
        let key = state.queue.insert(deadline, Action::Wake(waker.clone()));
        self.look_earlier(state, deadline);
        if !runs {
            waker.wake_by_ref();
        }
        key
    }

    /// Ends a task, begun or not, or the wait of a future.
    pub(crate) fn cancel(&self, key: DelayKey) {
        let mut state = self.state();
        let (action, begun) = (state.queue.remove(key), state.begun.remove(&key));
        // Dropped when the lock is free: a task may own others.
        drop(state);
        drop(action);
        begun.flatten().inspect(AbortHandle::abort);
    }

    /// Has the thread look in time for `deadline`.
    fn look_earlier(&self, mut state: MutexGuard<'_, State>, deadline: Instant) {
        if state.looks_at.is_none_or(|looks_at| deadline < looks_at) {
            // Once: those that come before it looks need not tell it again, unless they are earlier still.
            state.looks_at = Some(deadline);
            drop(state);
            self.earlier.notify_one();
        }
    }

    /// Starts the thread unless there is one. Whether there is.
    fn run(&'static self, state: &mut State) -> bool {
        if !state.is_running {
            let thread = std::thread::Builder::new().name("bertha-timer".into());
            state.is_running = match thread.spawn(|| self.serve()) {
                Ok(_) => true,
                Err(error) => {
                    tracing::warn!(%error, "no thread for timers");
                    false
                }
            };
        }
        state.is_running
    }

    /// Acts on every entry that is due, until nothing has waited for a while.
    fn serve(&self) {
        let mut state = self.state();
        loop {
            let now = Instant::now();
            while let Some((key, action)) = state.queue.pop_due(now) {
                if let Action::Begin { .. } = action {
                    state.begun.insert(key, None);
                }
                drop(state);
                self.act(key, action);
                state = self.state();
            }
            state.looks_at = state.queue.next_deadline();
            let pause =
                state.looks_at.map_or(LINGER, |next| next.saturating_duration_since(now).min(MAX_PAUSE));
            let waited = self.earlier.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if waited.1.timed_out() && state.queue.len() == 0 {
                state.is_running = false;
                state.looks_at = None;
                return;
            }
        }
    }

    fn act(&self, key: DelayKey, action: Action) {
        match action {
            Action::Wake(waker) => waker.wake(),
            Action::Begin { task, runtime } => {
                // A runtime that has ended drops it.
                let begun = runtime.spawn(task).abort_handle();
                match self.state().begun.get_mut(&key) {
                    Some(known) => *known = Some(begun),
                    // Cancelled in this very moment.
                    None => begun.abort(),
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for a distant deadline.
pub(crate) struct DistantSleep {
    deadline: Instant,
    timer: &'static Timer,
    key: Option<DelayKey>,
}

impl DistantSleep {
    pub(crate) fn new(timer: &'static Timer, deadline: Instant) -> Self {
        Self { deadline, timer, key: None }
    }
}

impl Future for DistantSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline {
            return Poll::Ready(());
        }
        if let Some(key) = self.key
            && let Some(Action::Wake(waker)) = self.timer.state().queue.get_mut(key)
        {
            waker.clone_from(cx.waker());
            return Poll::Pending;
        }
        self.key = Some(self.timer.wake_at(self.deadline, cx.waker()));
        Poll::Pending
    }
}

impl Drop for DistantSleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.timer.cancel(key);
        }
    }
}

#[cfg(test)]
mod tests;
