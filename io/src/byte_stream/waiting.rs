//! The tasks that wait for one call: the writer, and a reader that helps the call on.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// The half of a stream that polls a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Reader,
    Writer,
}

/// The tasks that a call wakes. A call keeps the waker of its last poll alone, and either task may have given up its wait, so a call that
/// both tasks have polled wakes both.
#[derive(Default)]
pub(super) struct Waiting {
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Wakes both. It is kept, since the tasks of a stream seldom change.
    both: Option<Arc<Both>>,
}

struct Both {
    reader: Waker,
    writer: Waker,
}

impl Wake for Both {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.reader.wake_by_ref();
        self.writer.wake_by_ref();
    }
}

impl Waiting {
    /// Polls a call on behalf of one task. The call wakes the other task, too, if that task has polled the call before, and so does a
    /// completion that the other task has not seen.
    pub(super) fn poll<T>(
        &mut self,
        side: Side,
        cx: &mut Context<'_>,
        call: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let (own, other) = match side {
            Side::Reader => (&mut self.reader, &mut self.writer),
            Side::Writer => (&mut self.writer, &mut self.reader),
        };
        let polled = match other.as_ref().filter(|other| !other.will_wake(cx.waker())) {
            None => call(cx),
            Some(other) => {
                let (reader, writer) = match side {
                    Side::Reader => (cx.waker(), other),
                    Side::Writer => (other, cx.waker()),
                };
                let kept = self.both.take();
                let kept = kept.filter(|both| both.reader.will_wake(reader) && both.writer.will_wake(writer));
                let both =
                    kept.unwrap_or_else(|| Arc::new(Both { reader: reader.clone(), writer: writer.clone() }));
                let polled = call(&mut Context::from_waker(&Waker::from(both.clone())));
                self.both = Some(both);
                polled
            }
        };
        if polled.is_pending() {
            match own {
                Some(own) => own.clone_from(cx.waker()),
                None => *own = Some(cx.waker().clone()),
            }
            return polled;
        }
        *own = None;
        if let Some(other) = other.take() {
            other.wake();
        }
        polled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Task {
        count: Arc<Count>,
        waker: Waker,
    }

    impl Task {
        fn new() -> Self {
            let count = Arc::new(Count::default());
            Self { waker: count.clone().into(), count }
        }

        /// Polls a call that is pending, and returns the waker that the call keeps.
        fn pend(&self, waiting: &mut Waiting, side: Side) -> Option<Waker> {
            let mut kept = None;
            let polled = waiting.poll(side, &mut Context::from_waker(&self.waker), |cx| {
                kept = Some(cx.waker().clone());
                Poll::<()>::Pending
            });
            assert!(polled.is_pending());
            kept
        }

        fn woken(&self) -> usize {
            self.count.0.swap(0, Ordering::Relaxed)
        }
    }

    #[test]
    fn a_call_that_both_tasks_have_polled_wakes_both_whichever_polled_last() {
        for (first, last) in [(Side::Writer, Side::Reader), (Side::Reader, Side::Writer)] {
            let mut waiting = Waiting::default();
            let [one, other] = [Task::new(), Task::new()];
            one.pend(&mut waiting, first).into_iter().for_each(Waker::wake);
            assert_eq!((one.woken(), other.woken()), (1, 0));
            other.pend(&mut waiting, last).into_iter().for_each(Waker::wake);
            assert_eq!((one.woken(), other.woken()), (1, 1));
            // The first task polls again, and gives up.
            one.pend(&mut waiting, first).into_iter().for_each(Waker::wake);
            assert_eq!((one.woken(), other.woken()), (1, 1));
        }
    }

    #[test]
    fn a_completion_wakes_the_task_that_has_not_seen_it() {
        let mut waiting = Waiting::default();
        let [writer, reader] = [Task::new(), Task::new()];
        let _ = writer.pend(&mut waiting, Side::Writer);
        let done = waiting.poll(Side::Reader, &mut Context::from_waker(&reader.waker), |_| Poll::Ready(7));
        assert_eq!(done, Poll::Ready(7));
        assert_eq!((writer.woken(), reader.woken()), (1, 0));
        // The next call wakes nobody of the call before.
        reader.pend(&mut waiting, Side::Reader).into_iter().for_each(Waker::wake);
        assert_eq!((writer.woken(), reader.woken()), (0, 1));
    }

    #[test]
    fn a_task_that_reads_and_writes_is_woken_once() {
        let mut waiting = Waiting::default();
        let task = Task::new();
        let _ = task.pend(&mut waiting, Side::Writer);
        task.pend(&mut waiting, Side::Reader).into_iter().for_each(Waker::wake);
        assert_eq!(task.woken(), 1);
    }
}
