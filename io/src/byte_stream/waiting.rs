//! The tasks that wait for one call: the writer, and a reader that helps the call on.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

/// The half of a stream that polls a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Reader,
    Writer,
}

/// The tasks that a call wakes. A call keeps the waker of its last poll alone, and either task may have given up its wait, so a
/// call wakes the writer, and the reader that read last: that reader may wait since before the call.
#[derive(Default)]
pub(super) struct Waiting {
    reader: Option<Waker>,
    /// The writer, while it waits for the present call.
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
    /// Notes the task that reads, for the calls that begin while it waits.
    pub(super) fn note_reader(&mut self, waker: &Waker) {
        note(&mut self.reader, waker);
    }

    /// Polls a call on behalf of one task. The call wakes the other task, too. The writer that waits also learns of a
    /// completion that the reader has seen. A completion that the writer has seen concerns no reader.
    pub(super) fn poll<T>(
        &mut self,
        side: Side,
        cx: &mut Context<'_>,
        call: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let other = match side {
            Side::Reader => &self.writer,
            Side::Writer => &self.reader,
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
        match side {
            Side::Reader => self.note_reader(cx.waker()),
            Side::Writer if polled.is_pending() => note(&mut self.writer, cx.waker()),
            Side::Writer => self.writer = None,
        }
        if polled.is_ready()
            && let Some(writer) = self.writer.take()
        {
            writer.wake();
        }
        polled
    }
}

fn note(kept: &mut Option<Waker>, waker: &Waker) {
    match kept {
        Some(kept) => kept.clone_from(waker),
        None => *kept = Some(waker.clone()),
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
    fn a_reader_that_waits_since_before_a_call_is_woken_by_it_and_by_the_next() {
        let mut waiting = Waiting::default();
        let [writer, reader] = [Task::new(), Task::new()];
        waiting.note_reader(&reader.waker);
        for _ in 0..2 {
            writer.pend(&mut waiting, Side::Writer).into_iter().for_each(Waker::wake);
            assert_eq!((writer.woken(), reader.woken()), (1, 1));
            let mut cx = Context::from_waker(&writer.waker);
            assert_eq!(waiting.poll(Side::Writer, &mut cx, |_| Poll::Ready(7)), Poll::Ready(7));
            assert_eq!((writer.woken(), reader.woken()), (0, 0));
        }
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
