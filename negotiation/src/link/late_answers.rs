//! Answers that no data goes with, for all links of a listener.
//!
//! One task for all: a task per connection would cost a short one more than its answer does. Only an answer that the datapath does not
//! take at once gets its own.

use super::{Link, Shared, TaskOf};
use bertha_core::{Base, Buf, Connection, Runtime};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::replace;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};

/// Sends the answers of links whose application has had its turn and said nothing.
///
/// When it is dropped, all that is left is answered.
pub(crate) struct LateAnswers<C: Connection<Data = Buf>> {
    unsent: Arc<Unsent<C>>,
    /// On the runtime of the first link; if that one has gone, of the first one after that.
    task: Mutex<Option<TaskOf<C>>>,
}

struct Unsent<C: Connection<Data = Buf>>(Mutex<Queue<C>>);

/// As long as the links that were accepted in one turn: the task has the next.
struct Queue<C: Connection<Data = Buf>> {
    links: VecDeque<Weak<Shared<C>>>,
    waker: Option<Waker>,
    /// Whether there is a task.
    is_served: bool,
}

impl<C: Connection<Data = Buf>> LateAnswers<C> {
    pub(crate) fn new() -> Self {
        let queue = Queue { links: VecDeque::new(), waker: None, is_served: false };
        Self { unsent: Arc::new(Unsent(Mutex::new(queue))), task: Mutex::new(None) }
    }

    /// Answers on `link` once all tasks that are ready now have had their turn, unless the answer has left by then.
    pub(crate) fn add(&self, link: &Link<C>) {
        let mut queue = self.unsent.queue();
        queue.links.push_back(Arc::downgrade(&link.shared));
        let (waker, is_served) = (queue.waker.take(), replace(&mut queue.is_served, true));
        drop(queue);
        if !is_served {
            let serving = Serving(self.unsent.clone());
            let task = link.shared.base.base().runtime().spawn(async move { serving.0.answer().await });
            *self.task.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
        }
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<C: Connection<Data = Buf>> Unsent<C> {
    fn queue(&self) -> MutexGuard<'_, Queue<C>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next link that is still there and has not answered, of the first `count`.
    fn next(&self, count: &mut usize) -> Option<Arc<Shared<C>>> {
        while *count > 0 {
            *count -= 1;
            let link = self.queue().links.pop_front()?.upgrade();
            if let Some(link) = link.filter(|link| link.liveness.is_answering()) {
                return Some(link);
            }
        }
        None
    }

    async fn answer(&self) {
        loop {
            let mut count = self.added().await;
            turn().await;
            while let Some(link) = self.next(&mut count) {
                // A client to which nothing can be sent just now must not hold up the others.
                if !link.answer_at_once() {
                    link.answer_later();
                }
            }
        }
    }

    /// Answers all that can be answered without waiting.
    fn answer_at_once(&self) {
        let mut all = usize::MAX;
        while let Some(link) = self.next(&mut all) {
            let _ = link.answer_at_once();
        }
    }

    /// Waits until there are links, and says how many.
    async fn added(&self) -> usize {
        poll_fn(|cx| {
            let mut queue = self.queue();
            if queue.links.is_empty() {
                queue.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(queue.links.len())
        })
        .await
    }
}

impl<C: Connection<Data = Buf>> Drop for LateAnswers<C> {
    fn drop(&mut self) {
        self.unsent.answer_at_once();
    }
}

/// The task's hold on the queue. A runtime that shuts down drops it with the task, and then the next link brings another one.
struct Serving<C: Connection<Data = Buf>>(Arc<Unsent<C>>);

impl<C: Connection<Data = Buf>> Drop for Serving<C> {
    fn drop(&mut self) {
        self.0.queue().is_served = false;
        self.0.answer_at_once();
    }
}

/// Lets the tasks run that are ready by now.
async fn turn() {
    let mut has_waited = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_waited, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
