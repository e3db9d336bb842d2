//! The slots whose futures can go on.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel, Ordering::Release};
use std::task::{Context, Poll, Wake, Waker};

/// The numbers of slots that were woken, and the task to wake for them.
#[derive(Debug, Default)]
pub(super) struct Woken {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    slots: Vec<Arc<SlotWaker>>,
    task: Option<Waker>,
}

/// Wakes one slot. Only the first wake of several adds it.
#[derive(Debug)]
pub(super) struct SlotWaker {
    number: usize,
    is_woken: AtomicBool,
    woken: Arc<Woken>,
}

impl SlotWaker {
    /// The waker of the slot with this number.
    pub(super) fn waker(number: usize, woken: Arc<Woken>) -> Waker {
        Waker::from(Arc::new(Self { number, is_woken: AtomicBool::new(false), woken }))
    }
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        if self.is_woken.swap(true, AcqRel) {
            return;
        }
        let woken = self.woken.clone();
        let task = {
            let mut state = woken.state.lock();
            state.slots.push(self);
            state.task.take()
        };
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Woken {
    /// Moves the numbers of the slots that were woken to `into`; or `cx` is woken once there are some.
    pub(super) fn poll(&self, cx: &Context<'_>, into: &mut Vec<usize>) -> Poll<()> {
        let mut state = self.state.lock();
        if state.slots.is_empty() {
            match &mut state.task {
                Some(task) => task.clone_from(cx.waker()),
                None => state.task = Some(cx.waker().clone()),
            }
            return Poll::Pending;
        }
        state.take(into);
        Poll::Ready(())
    }

    /// Moves the numbers of the slots that were woken to `into`.
    pub(super) fn take(&self, into: &mut Vec<usize>) {
        self.state.lock().take(into);
    }
}

impl State {
    fn take(&mut self, into: &mut Vec<usize>) {
        into.extend(self.slots.drain(..).map(|slot| {
            // Before the future is polled, so that a wake during that adds it again.
            slot.is_woken.store(false, Release);
            slot.number
        }));
    }
}
