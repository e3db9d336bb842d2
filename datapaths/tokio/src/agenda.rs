//! Tasks that begin later.
//!
//! A task that only waits costs what every task does: aligned memory, a place among the runtime's tasks, a timer, and two visits of the
//! scheduler, the last when it is given up. What keeps a connection alive has nothing to do for seconds, and most connections end
//! sooner. So until its time a task lies here: a place in an ordered map, and one timer for all.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use tokio::runtime::{Handle, Id};
use tokio::task::AbortHandle;
use tokio::time::{Sleep, sleep_until};

type Later = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What is to begin later on a runtime, as far as one of its threads has asked for it.
///
/// One per thread, so that threads don't wait for each other; a task of its own begins what is due. It ends with the runtime, or when
/// the thread has left and nobody has a task here any more.
#[derive(Default)]
pub(super) struct Agenda(Mutex<Plan>);

/// A place on an agenda: when, and a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(Instant, u64);

/// What is to begin when, without a clock.
#[derive(Default)]
struct Plan {
    later: BTreeMap<Place, Later>,
    /// What has begun and still has an owner; nothing for the moment in which it begins.
    begun: BTreeMap<Place, Option<AbortHandle>>,
    numbers: u64,
    /// Wakes the task that begins what is due, if something is due before it looks again.
    waker: Option<Waker>,
    looks_at: Option<Instant>,
}

thread_local! {
    /// Of the runtime that this thread used last.
    static CURRENT: RefCell<Option<(Id, Arc<Agenda>)>> = const { RefCell::new(None) };
}

impl Agenda {
    /// The agenda of this thread on the current runtime.
    ///
    /// # Panics
    /// Outside of a runtime, as tokio does.
    pub(super) fn current() -> Arc<Self> {
        let runtime = Handle::current();
        CURRENT.with_borrow_mut(|current| match current {
            Some((of, agenda)) if *of == runtime.id() => agenda.clone(),
            _ => {
                let agenda = Arc::new(Self::default());
                runtime.spawn(keep(Arc::downgrade(&agenda)));
                *current = Some((runtime.id(), agenda.clone()));
                agenda
            }
        })
    }

    /// Notes a task.
    pub(super) fn add(&self, at: Instant, task: Later) -> Place {
        let (place, waker) = self.plan().add(at, task);
        waker.into_iter().for_each(Waker::wake);
        place
    }

    /// Strikes a task out, begun or not.
    pub(super) fn strike_out(&self, place: Place) {
        // The task is dropped when the lock is free: it may own others.
        let mut plan = self.plan();
        let (later, begun) = (plan.later.remove(&place), plan.begun.remove(&place));
        drop(plan);
        drop(later);
        begun.flatten().inspect(AbortHandle::abort);
    }

    fn poll(&self, mut timer: Pin<&mut Sleep>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let now = tokio::time::Instant::now().into_std();
            let due = self.plan().take_due(now);
            for (place, task) in due {
                self.begin(place, task);
            }
            let Some(next) = self.plan().look_again(cx.waker()) else { return Poll::Pending };
            timer.as_mut().reset(next.into());
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn begin(&self, place: Place, task: Later) {
        let begun = tokio::spawn(task).abort_handle();
        match self.plan().begun.get_mut(&place) {
            Some(known) => *known = Some(begun),
            // Struck out in this very moment.
            None => begun.abort(),
        }
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins what is due, for as long as somebody has the agenda and the runtime lives.
async fn keep(agenda: Weak<Agenda>) {
    let mut timer = pin!(sleep_until(Instant::now().into()));
    poll_fn(|cx| match agenda.upgrade() {
        Some(agenda) => agenda.poll(timer.as_mut(), cx),
        None => Poll::Ready(()),
    })
    .await
}

impl Drop for Agenda {
    /// Its task sleeps until something is due, which nothing will be.
    fn drop(&mut self) {
        let waker = self.plan().waker.take();
        waker.into_iter().for_each(Waker::wake);
    }
}

impl Plan {
    /// Adds a task, and says whom to wake for it.
    fn add(&mut self, at: Instant, task: Later) -> (Place, Option<Waker>) {
        self.numbers += 1;
        let place = Place(at, self.numbers);
        self.later.insert(place, task);
        match self.looks_at {
            Some(looks_at) if looks_at <= at => (place, None),
            _ => (place, self.waker.take()),
        }
    }

    /// Takes out what is due, in order.
    fn take_due(&mut self, now: Instant) -> Vec<(Place, Later)> {
        let mut due = Vec::new();
        while let Some(first) = self.later.first_entry().filter(|first| first.key().0 <= now) {
            due.push(first.remove_entry());
        }
        self.begun.extend(due.iter().map(|(place, _)| (*place, None)));
        due
    }

    /// When something is due next. Until then `waker` is told of what is due earlier.
    fn look_again(&mut self, waker: &Waker) -> Option<Instant> {
        self.waker = Some(waker.clone());
        self.looks_at = self.later.first_key_value().map(|(place, _)| place.0);
        self.looks_at
    }
}

#[cfg(test)]
mod tests;
