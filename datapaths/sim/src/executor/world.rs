//! The tasks, the clock and the random numbers of a simulation.

use super::TaskId;
use super::halt::{Halt, HaltReason};
use super::ready::Ready;
use super::timeline::{Event, Key, Timeline};
use crate::rng::Rng;
use crate::trace::Trace;
use bertha_core::BoxFuture;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// The state that everything in a simulation shares. Its lock is never held while a task, an event or a
/// destructor runs.
pub(crate) struct World {
    pub(crate) seed: u64,
    start: Instant,
    state: Mutex<WorldState>,
}

pub(crate) struct WorldState {
    pub(crate) ready: Ready,
    pub(crate) limits: Limits,
    timeline: Timeline,
    tasks: BTreeMap<TaskId, Slot>,
    next_task: u64,
    random: Rng,
    trace: Trace,
    steps: u64,
    over: bool,
}

/// The limits of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    pub(crate) steps: u64,
}

struct Slot {
    /// The future of the task. It is absent while the task runs, and always for the main future, which lives
    /// on the stack of `run`.
    future: Option<BoxFuture<'static, ()>>,
    waker: Waker,
    queued: bool,
}

/// A task that has its turn.
pub(crate) struct Turn {
    pub(crate) task: TaskId,
    pub(crate) waker: Waker,
    future: Option<BoxFuture<'static, ()>>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Arc<Self> {
        let state = WorldState {
            ready: Ready::new(Rng::new(seed, 0)),
            limits: Limits { time: Duration::from_secs(3600), steps: 10_000_000 },
            timeline: Timeline::default(),
            tasks: BTreeMap::new(),
            next_task: 0,
            random: Rng::new(seed, 1),
            trace: Trace::default(),
            steps: 0,
            over: false,
        };
        Arc::new(Self { seed, start: Instant::now(), state: Mutex::new(state) })
    }

    pub(crate) fn configure(&self, change: impl FnOnce(&mut WorldState)) {
        change(&mut self.state.lock());
    }

    /// Returns the virtual time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.state.lock().timeline.now
    }

    pub(crate) fn now(&self) -> Instant {
        self.start + self.elapsed()
    }

    pub(crate) fn random(&self) -> u64 {
        self.state.lock().random.next()
    }

    pub(crate) fn trace(&self) -> u64 {
        self.state.lock().trace.value()
    }

    /// Adds a record to the fingerprint of the run.
    pub(crate) fn record(&self, what: u8, number: u64, bytes: &[u8]) {
        let mut state = self.state.lock();
        let now = state.timeline.now.as_nanos() as u64;
        state.trace.record(&[what]);
        state.trace.number(now);
        state.trace.number(number);
        state.trace.record(bytes);
    }

    /// Runs `action` after `delay`.
    pub(crate) fn after(&self, delay: Duration, action: impl FnOnce() + Send + 'static) {
        let mut state = self.state.lock();
        if !state.over {
            let at = state.timeline.now.saturating_add(delay);
            state.timeline.add(at, Event::Act(Box::new(action)));
        }
    }

    /// Sets the timer `key`, or a new timer, to wake `waker` at `deadline`. Returns `None` if the deadline
    /// has passed.
    pub(super) fn set_timer(&self, key: Option<Key>, deadline: Instant, waker: &Waker) -> Option<Key> {
        let at = deadline.saturating_duration_since(self.start);
        let mut state = self.state.lock();
        let old = key.and_then(|key| state.timeline.remove(key));
        let key = (state.timeline.now < at).then(|| state.timeline.add(at, Event::Wake(waker.clone())));
        drop(state);
        drop(old);
        key
    }

    pub(super) fn remove_timer(&self, key: Key) {
        let event = self.state.lock().timeline.remove(key);
        drop(event);
    }

    /// Adds a task, which runs for the first time in its turn. A task without a future is the main task.
    pub(crate) fn add_task(self: &Arc<Self>, future: Option<BoxFuture<'static, ()>>) -> TaskId {
        let mut state = self.state.lock();
        let id = TaskId(state.next_task);
        if state.over {
            drop(state);
            drop(future);
            return id;
        }
        state.next_task += 1;
        let waker = Waker::from(Arc::new(TaskWaker { id, world: self.weak() }));
        state.tasks.insert(id, Slot { future, waker, queued: true });
        state.ready.add(id);
        id
    }

    pub(super) fn wake(&self, task: TaskId) {
        let state = &mut *self.state.lock();
        if let Some(slot) = state.tasks.get_mut(&task)
            && !slot.queued
        {
            slot.queued = true;
            state.ready.add(task);
        }
    }

    /// Removes a task. A task that runs at this moment ends when it next suspends.
    pub(super) fn end_task(&self, task: TaskId) {
        let slot = self.state.lock().tasks.remove(&task);
        drop(slot);
    }

    /// Returns the task whose turn it is. When no task is ready, time advances.
    pub(crate) fn next_turn(&self) -> Result<Turn, Halt> {
        loop {
            let mut state = self.state.lock();
            while let Some(task) = state.ready.take() {
                let WorldState { tasks, steps, limits, trace, .. } = &mut *state;
                // A task that ended while it was ready has no slot any more.
                let Some(slot) = tasks.get_mut(&task) else { continue };
                if *steps >= limits.steps {
                    return Err(self.halt(&state, HaltReason::StepLimit));
                }
                *steps += 1;
                trace.number(task.0);
                slot.queued = false;
                return Ok(Turn { task, waker: slot.waker.clone(), future: slot.future.take() });
            }
            match state.timeline.upcoming() {
                None => return Err(self.halt(&state, HaltReason::Deadlock)),
                Some(at) if at > state.limits.time => return Err(self.halt(&state, HaltReason::TimeLimit)),
                Some(_) => {}
            }
            let events = state.timeline.advance();
            drop(state);
            events.into_iter().for_each(Event::happen);
        }
    }

    /// Runs a task up to its next suspension.
    pub(crate) fn take_turn(&self, turn: Turn) {
        let Turn { task, waker, future: Some(mut future) } = turn else { return };
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(()) => self.end_task(task),
            Poll::Pending => {
                if let Some(slot) = self.state.lock().tasks.get_mut(&task) {
                    slot.future = Some(future);
                }
            }
        }
    }

    /// Ends every task.
    pub(crate) fn end_tasks(&self) {
        let mut state = self.state.lock();
        state.ready.clear();
        let tasks = std::mem::take(&mut state.tasks);
        drop(state);
        drop(tasks);
    }

    /// Ends every task and drops all events. Tasks and events may hold references to this world, which would
    /// otherwise never be freed.
    pub(crate) fn end(&self) {
        self.state.lock().over = true;
        self.end_tasks();
        let events = self.state.lock().timeline.clear();
        drop(events);
    }

    fn halt(&self, state: &WorldState, reason: HaltReason) -> Halt {
        Halt {
            reason,
            seed: self.seed,
            time: state.timeline.now,
            steps: state.steps,
            tasks: state.tasks.len().saturating_sub(1),
        }
    }

    pub(super) fn weak(self: &Arc<Self>) -> Weak<Self> {
        Arc::downgrade(self)
    }
}

/// A waker of a task.
struct TaskWaker {
    id: TaskId,
    world: Weak<World>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(world) = self.world.upgrade() {
            world.wake(self.id);
        }
    }
}
