//! The task that sends the answers with which no data goes, for all links of a listener.
//!
//! All links share a task, since a task for each short connection would cost more than its answer. Only an
//! answer that the datapath does not take at once gets its own task.

use crate::link::{Link, LinkShared, LinkState, TaskOf};
use bertha_core::{Base, Buf, Connection, Runtime};
use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::replace;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

/// Sends the answers of links whose application has had its turn and has sent nothing.
///
/// Dropping it sends all answers that are left.
pub(crate) struct AnswerTask<C: Connection<Data = Buf>> {
    pending: Arc<PendingAnswers<C>>,
    /// The task, on the runtime of the first link. The first link after the end of that runtime starts the
    /// task again.
    task: Mutex<Option<TaskOf<C>>>,
}

struct PendingAnswers<C: Connection<Data = Buf>>(Mutex<Queue<C>>);

struct Queue<C: Connection<Data = Buf>> {
    /// The links that were accepted since the task last ran.
    links: VecDeque<Weak<LinkShared<C>>>,
    waker: Option<Waker>,
    /// True if there is a task.
    is_served: bool,
}

impl<C: Connection<Data = Buf>> AnswerTask<C> {
    pub(crate) fn new() -> Self {
        let queue = Queue { links: VecDeque::new(), waker: None, is_served: false };
        Self { pending: Arc::new(PendingAnswers(Mutex::new(queue))), task: Mutex::new(None) }
    }

    /// Has the answer of `link` sent once all tasks that are ready now have had their turn, unless it has
    /// left by then.
    pub(crate) fn add(&self, link: &Link<C>) {
        let mut queue = self.pending.queue();
        queue.links.push_back(Arc::downgrade(&link.shared));
        let waker = queue.waker.take();
        let is_served = replace(&mut queue.is_served, true);
        drop(queue);
        if !is_served {
            let serving = Serving(self.pending.clone());
            let task = link.shared.base.base().runtime().spawn(async move { serving.0.run().await });
            *self.task.lock() = Some(task);
        }
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<C: Connection<Data = Buf>> PendingAnswers<C> {
    fn queue(&self) -> MutexGuard<'_, Queue<C>> {
        self.0.lock()
    }

    /// Returns the next link whose answer is pending, of the first `count` links.
    fn next(&self, count: &mut usize) -> Option<Arc<LinkShared<C>>> {
        while *count > 0 {
            *count -= 1;
            let link = self.queue().links.pop_front()?.upgrade();
            if let Some(link) = link.filter(|link| link.lifecycle.is(LinkState::AnswerPending)) {
                return Some(link);
            }
        }
        None
    }

    /// Sends the answers of each turn once the tasks that were ready have run.
    async fn run(&self) {
        loop {
            let mut count = self.added().await;
            turn().await;
            while let Some(link) = self.next(&mut count) {
                // A client to which nothing can be sent just now must not hold up the other clients.
                if !link.try_send_answer() {
                    link.spawn_answer();
                }
            }
        }
    }

    /// Sends all answers that the datapath takes at once.
    fn send_all(&self) {
        let mut count = usize::MAX;
        while let Some(link) = self.next(&mut count) {
            let _ = link.try_send_answer();
        }
    }

    /// Waits for links, and returns their number.
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

impl<C: Connection<Data = Buf>> Drop for AnswerTask<C> {
    fn drop(&mut self) {
        self.pending.send_all();
    }
}

/// The task's hold on the queue. A runtime that shuts down drops it with the task, and then the next link
/// starts the task again.
struct Serving<C: Connection<Data = Buf>>(Arc<PendingAnswers<C>>);

impl<C: Connection<Data = Buf>> Drop for Serving<C> {
    fn drop(&mut self) {
        self.0.queue().is_served = false;
        self.0.send_all();
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
