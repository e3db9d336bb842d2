//! One thread of the process that waits for distant deadlines, on behalf of all runtimes.
//!
//! A timer of tokio's that is armed makes each park of its runtime read the clock twice and walk the wheel: an echo between two
//! runtimes takes a fifth longer while each of them merely watches over one idle connection. So distant deadlines lie
//! here, and cost the runtime nothing until then.
//!
//! Even a task that only waits would cost aligned memory, a slot among the runtime's tasks, and two visits of
//! the scheduler, the second when the task is aborted. Tasks that keep connections alive have nothing to do
//! for seconds, and most connections end sooner. So a task is an entry in an ordered map until its deadline.

use super::delay_queue::{DelayKey, DelayQueue};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// Time for which the thread stays when no entry waits: starting a thread takes longer than most handshakes.
const LINGER: Duration = Duration::from_secs(1);

/// Shortest time between two looks at the entries, of which one look does all that are due: a thousand waits that end one after another
/// would wake this thread, and the runtime with it, a thousand times. Those that are added meanwhile, and are due before, have a look of
/// their own.
const REST: Duration = Duration::from_millis(10);

/// Longest sleep between two looks at the entries, so that the thread also ends if the last entry was
/// cancelled.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Timer of the process.
pub(crate) static TIMER: Timer = Timer::new();

type Later = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A delay queue and the thread that serves it. The first entry starts the thread, which ends after the queue
/// has been empty for [`LINGER`].
pub(crate) struct Timer {
    state: Mutex<TimerState>,
    /// Signals that an entry is due before the thread's next look.
    earlier: Condvar,
}

struct TimerState {
    queue: DelayQueue<Action>,
    /// Tasks that have begun and whose handles still exist. The value is `None` during the moment in which
    /// the task is spawned.
    begun: BTreeMap<DelayKey, Option<AbortHandle>>,
    is_running: bool,
    /// Time of the thread's next look.
    looks_at: Option<Instant>,
}

/// Action at a deadline.
enum Action {
    /// Spawns a task on its runtime.
    Begin { task: Later, runtime: Handle },
    /// Wakes a future.
    Wake(Waker),
}

impl Timer {
    pub(crate) const fn new() -> Self {
        let state = TimerState {
            queue: DelayQueue::new(),
            begun: BTreeMap::new(),
            is_running: false,
            looks_at: None,
        };
        Self { state: Mutex::new(state), earlier: Condvar::new() }
    }

    /// Starts `task` at `deadline` on the runtime of the caller. Returns the task if the process can't have
    /// another thread.
    ///
    /// # Panics
    /// Panics outside of a tokio runtime, as `Handle::current` does.
    pub(crate) fn begin_at(&'static self, deadline: Instant, task: Later) -> Result<DelayKey, Later> {
        let mut state = self.state();
        if !self.run(&mut state) {
            return Err(task);
        }
        let key = state.queue.insert(deadline, Action::Begin { task, runtime: Handle::current() });
        self.look_earlier(state, deadline);
        Ok(key)
    }

    /// Calls `waker` at `deadline`, or at once if the process can't have another thread.
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
        let action = state.queue.remove(key);
        let begun = state.begun.remove(&key);
        // The task is dropped after the lock is released: it may own tasks of this timer.
        drop(state);
        drop(action);
        begun.flatten().inspect(AbortHandle::abort);
    }

    /// Makes the thread look at the entries no later than `deadline`.
    fn look_earlier(&self, mut state: MutexGuard<'_, TimerState>, deadline: Instant) {
        if state.looks_at.is_none_or(|looks_at| deadline < looks_at) {
            // The thread is notified a single time: until its next look, only an earlier deadline notifies it
            // again.
            state.looks_at = Some(deadline);
            drop(state);
            self.earlier.notify_one();
        }
    }

    /// Starts the thread unless it runs. Returns true if the thread runs.
    fn run(&'static self, state: &mut TimerState) -> bool {
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

    /// Runs the action of every due entry, until the queue has been empty for [`LINGER`].
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
            state.looks_at = state.queue.next_deadline().map(|next| next.max(now + REST));
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
                // A runtime that has ended drops the task.
                let begun = runtime.spawn(task).abort_handle();
                match self.state().begun.get_mut(&key) {
                    Some(known) => *known = Some(begun),
                    // The owner has cancelled the task since the lock was released.
                    None => begun.abort(),
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, TimerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A future that waits for a distant deadline, and is at most [`REST`] late.
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
