//! The slots of the calls that use the stack in force, in one direction.
//!
//! A call holds the guard of a slot for as long as it runs, and finds the epoch in it. To end the epoch, a closer sets the closing
//! flag of each slot and empties one slot after the other as they become free; once all are empty no call uses the epoch, and none
//! can until another is opened.
//!
//! A slot is acquired by one compare-and-swap and released by one plain store. An epoch is unused once every slot was locked after the
//! close; no order across atomics is needed for that. The closing flag is only a request, and seeing it late costs time
//! only. A call checks it on entry and not on leaving, so steady traffic cannot delay a close, and a closer has to look again
//! now and then.

use super::slot::{Slot, SlotList, lock};
use super::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// The bound of the list of waiting tasks. Beyond it they are woken to ask again.
const MAX_WAITERS: usize = 64;

/// The slots of one direction.
pub(crate) struct Slots<E> {
    list: SlotList<E>,
    state: Mutex<State<E>>,
}

struct State<E> {
    /// The open epoch; nothing while no call may start.
    epoch: Option<Arc<E>>,
    /// The total of counts when it was opened.
    counted_before: u64,
    /// Calls that wait for an epoch.
    waiting: Vec<Waker>,
    /// The task that waits for the slots to become empty.
    closer: Option<Waker>,
    /// The task that waits for calls while none may start.
    watcher: Option<Waker>,
}

impl<E> Slots<E> {
    /// Slots that are open for `epoch`.
    pub(crate) fn new(epoch: &Arc<E>) -> Self {
        let (waiting, closer, watcher) = Default::default();
        Self {
            list: SlotList::new(epoch),
            state: Mutex::new(State {
                epoch: Some(epoch.clone()),
                counted_before: 0,
                waiting,
                closer,
                watcher,
            }),
        }
    }

    /// The slot to try first. Almost always it is free, and holds the epoch.
    #[inline(always)]
    pub(crate) fn first(&self) -> &Slot<E> {
        self.list.first()
    }

    /// Finds a free slot once an epoch is open; another call may acquire it first. Concurrent calls come here, and calls
    /// during a change.
    #[cold]
    #[inline(never)]
    pub(crate) fn poll_find(&self, context: &Context<'_>) -> Poll<&Slot<E>> {
        let mut state = lock(&self.state);
        let Some(epoch) = state.epoch.clone() else {
            remember(&mut state.waiting, context.waker());
            // This call may be the one that was asked to leave, and has just left.
            self.empty();
            let woken = [state.closer.take(), state.watcher.take()];
            drop(state);
            woken.into_iter().flatten().for_each(Waker::wake);
            return Poll::Pending;
        };
        loop {
            for slot in self.list.iter() {
                if let Some(mut guard) = slot.try_lock() {
                    // Empty if it was held just when the epoch was opened. No other epoch can be in it.
                    guard.get_or_insert(epoch);
                    return Poll::Ready(slot);
                }
            }
            self.list.add();
        }
    }

    /// Takes the epoch out of all free slots. Returns whether all were free.
    fn empty(&self) -> bool {
        let mut is_empty = true;
        for slot in self.list.iter() {
            match slot.try_lock() {
                Some(mut guard) => *guard = None,
                None => is_empty = false,
            }
        }
        is_empty
    }

    /// Whether no call may start.
    pub(crate) fn is_closed(&self) -> bool {
        lock(&self.state).epoch.is_none()
    }

    /// Lets no further call start, and asks those in slots to leave.
    pub(crate) fn close(&self) {
        let mut state = lock(&self.state);
        state.epoch = None;
        // Under the lock, so that no call is asked to leave the epoch that is opened next.
        let asked: Vec<_> = self.list.iter().filter_map(Slot::close).collect();
        drop(state);
        asked.into_iter().for_each(Waker::wake);
    }

    /// Ready once all slots are empty after a [`close`](Self::close). Has to be polled now and then without a wake-up: a call that
    /// leaves just then may not see that it is waited for.
    pub(crate) fn poll_empty(&self, context: &Context<'_>) -> Poll<()> {
        lock(&self.state).closer = Some(context.waker().clone());
        if self.empty() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Whether a call that waits in a slot was polled since this was last asked, or may have been. Wakes such calls, so that
    /// they are polled again: a task that is busy is not, and has not seen what is there for it.
    pub(crate) fn is_attended(&self) -> bool {
        let woken: Vec<_> = self.list.iter().filter_map(Slot::take_waiter).collect();
        let is_attended = !woken.is_empty();
        woken.into_iter().for_each(Waker::wake);
        is_attended
    }

    /// Closes if no call is in a slot. Returns whether it did.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = lock(&self.state);
        let guards: Option<Vec<_>> = self.list.iter().map(Slot::try_lock).collect();
        let Some(guards) = guards else { return false };
        guards.into_iter().for_each(|mut guard| *guard = None);
        state.epoch = None;
        true
    }

    /// Ready once calls wait for an epoch. The first that comes wakes the task.
    pub(crate) fn poll_wanted(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if !state.waiting.is_empty() {
            return Poll::Ready(());
        }
        state.closer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Ready once calls may start, or some wait until they may.
    pub(crate) fn poll_attendable(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = lock(&self.state);
        if state.epoch.is_some() || !state.waiting.is_empty() {
            return Poll::Ready(());
        }
        state.watcher = Some(context.waker().clone());
        Poll::Pending
    }

    /// Opens `epoch`, and counts its messages from 0. Only after all slots were found empty.
    pub(crate) fn open(&self, epoch: &Arc<E>) {
        lock(&self.state).counted_before = self.list.total();
        self.reopen(epoch);
    }

    /// Opens the epoch again that was closed.
    pub(crate) fn reopen(&self, epoch: &Arc<E>) {
        let mut state = lock(&self.state);
        state.epoch = Some(epoch.clone());
        state.closer = None;
        for slot in self.list.iter() {
            slot.reopen();
            if let Some(mut guard) = slot.try_lock() {
                *guard = Some(epoch.clone());
            }
        }
        let (waiting, watcher) = (std::mem::take(&mut state.waiting), state.watcher.take());
        drop(state);
        waiting.into_iter().chain(watcher).for_each(Waker::wake);
    }

    /// The messages that calls have moved in the epoch that was opened last. Exact once all slots are empty.
    pub(crate) fn total(&self) -> u64 {
        self.list.total().wrapping_sub(lock(&self.state).counted_before)
    }
}

fn remember(list: &mut Vec<Waker>, waker: &Waker) {
    if !list.iter().any(|known| known.will_wake(waker)) {
        if list.len() >= MAX_WAITERS {
            list.drain(..).for_each(Waker::wake);
        }
        list.push(waker.clone());
    }
}
