//! The slots whose futures can go on.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel, Ordering::Release};
use std::task::{Context, Poll, Wake, Waker};

/// The numbers of slots that were woken, and the task to wake for them.
#[derive(Debug, Default)]
pub(super) struct Woken {
    state: Mutex<WokenState>,
}

#[derive(Debug, Default)]
struct WokenState {
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
    /// Returns the waker of the slot with this number.
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
    pub(super) fn poll(&self, cx: &Context<'_>, into: &mut impl Extend<usize>) -> Poll<()> {
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
    pub(super) fn take(&self, into: &mut impl Extend<usize>) {
        self.state.lock().take(into);
    }
}

impl WokenState {
    fn take(&mut self, into: &mut impl Extend<usize>) {
        into.extend(self.slots.drain(..).map(|slot| {
            // Before the future is polled, so that a wake during that adds it again.
            slot.is_woken.store(false, Release);
            slot.number
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    /// Counts how often the task is woken.
    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    fn polled(woken: &Woken, task: &Arc<Task>) -> Option<Vec<usize>> {
        let mut numbers = Vec::new();
        let waker = Waker::from(task.clone());
        woken.poll(&Context::from_waker(&waker), &mut numbers).is_ready().then_some(numbers)
    }

    #[test]
    fn a_slot_that_is_woken_wakes_the_task_once() {
        let (woken, task) = (Arc::<Woken>::default(), Arc::<Task>::default());
        let [first, second] = [1, 2].map(|number| SlotWaker::waker(number, woken.clone()));
        assert_eq!(polled(&woken, &task), None);
        first.wake_by_ref();
        first.wake_by_ref();
        second.wake_by_ref();
        assert_eq!(task.0.load(SeqCst), 1);
        assert_eq!(polled(&woken, &task), Some(vec![1, 2]));
        assert_eq!(polled(&woken, &task), None);
    }

    #[test]
    fn a_slot_can_be_woken_again_as_soon_as_it_was_taken() {
        let (woken, task) = (Arc::<Woken>::default(), Arc::<Task>::default());
        let slot = SlotWaker::waker(7, woken.clone());
        for times in 1..=3 {
            assert_eq!(polled(&woken, &task), None);
            slot.wake_by_ref();
            assert_eq!(task.0.load(SeqCst), times);
            let mut taken = Vec::new();
            woken.take(&mut taken);
            assert_eq!(taken, [7]);
        }
    }

    #[test]
    fn the_task_that_polled_last_is_woken() {
        let (woken, earlier, later) =
            (Arc::<Woken>::default(), Arc::<Task>::default(), Arc::<Task>::default());
        assert_eq!((polled(&woken, &earlier), polled(&woken, &later)), (None, None));
        SlotWaker::waker(0, woken.clone()).wake();
        assert_eq!((earlier.0.load(SeqCst), later.0.load(SeqCst)), (0, 1));
    }
}
