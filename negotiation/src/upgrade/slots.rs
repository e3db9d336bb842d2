//! The slots of the calls that use the current stack, in one direction.
//!
//! A call holds the guard of a slot for as long as it runs, and finds the epoch in the slot. To end the
//! epoch, a closer sets the closing flag of each slot and empties one slot after the other as they become
//! free; once all slots are empty no call uses the epoch, and none can until another epoch is opened.
//!
//! A slot is acquired by one compare-and-swap and released by one plain store. An epoch is unused once every
//! slot was locked after the close; no order across atomics is needed for this. The closing flag is only a
//! request: a call that sees it late costs only time. A call checks it on entry and not on leaving, so steady
//! traffic cannot delay a close, and a closer has to check again now and then.

use super::slot::{Slot, SlotList};
use super::sync::{Arc, Mutex, WakerList};
use std::task::{Context, Poll, Waker};

/// The slots of one direction.
pub(crate) struct Slots<E> {
    list: SlotList<E>,
    state: Mutex<SlotState<E>>,
}

struct SlotState<E> {
    /// The open epoch; `None` while no call may start.
    epoch: Option<Arc<E>>,
    /// The total of counts when the epoch was opened.
    counted_before: u64,
    /// The tasks of calls that wait for an epoch.
    waiting: WakerList,
    /// The task that waits for the slots to become empty.
    closer: Option<Waker>,
    /// The task that waits for calls while no call may start.
    watcher: Option<Waker>,
}

impl<E> Slots<E> {
    /// Makes slots that are open for `epoch`.
    pub(crate) fn new(epoch: &Arc<E>) -> Self {
        let (waiting, closer, watcher) = Default::default();
        Self {
            list: SlotList::new(epoch),
            state: Mutex::new(SlotState {
                epoch: Some(epoch.clone()),
                counted_before: 0,
                waiting,
                closer,
                watcher,
            }),
        }
    }

    /// Returns the slot to try first. Almost always it is free, and holds the epoch.
    #[inline(always)]
    pub(crate) fn first(&self) -> &Slot<E> {
        self.list.first()
    }

    /// Finds a free slot once an epoch is open; another call may acquire the slot first. Only concurrent
    /// calls, and calls during a change, use this method.
    #[cold]
    #[inline(never)]
    pub(crate) fn poll_find(&self, context: &Context<'_>) -> Poll<&Slot<E>> {
        let mut state = self.state.lock();
        let Some(epoch) = state.epoch.clone() else {
            state.waiting.register(context.waker());
            // This call may have been asked to leave, and have left just now.
            self.empty();
            let woken = [state.closer.take(), state.watcher.take()];
            drop(state);
            woken.into_iter().flatten().for_each(Waker::wake);
            return Poll::Pending;
        };
        loop {
            for slot in self.list.iter() {
                if let Some(mut guard) = slot.try_lock() {
                    // The slot is empty if it was held when the epoch was opened. No other epoch can be in
                    // it.
                    guard.get_or_insert(epoch);
                    return Poll::Ready(slot);
                }
            }
            self.list.add();
        }
    }

    /// Takes the epoch out of all free slots. Returns true if all slots were free.
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

    /// Returns true if no call may start.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().epoch.is_none()
    }

    /// Lets no further call start, and asks the calls in slots to leave.
    pub(crate) fn close(&self) {
        let mut state = self.state.lock();
        state.epoch = None;
        // The slots are closed under the lock, so that no call is asked to leave the epoch that is opened
        // next.
        let asked: Vec<_> = self.list.iter().filter_map(Slot::close).collect();
        drop(state);
        asked.into_iter().for_each(Waker::wake);
    }

    /// Ready once all slots are empty after a [`close`](Self::close). It has to be polled now and then
    /// without a wake-up: a call that leaves just then may not see the registered task.
    pub(crate) fn poll_empty(&self, context: &Context<'_>) -> Poll<()> {
        self.state.lock().closer = Some(context.waker().clone());
        if self.empty() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns true if a call that waits in a slot was polled since the last call of this method, or may have
    /// been. Wakes such calls, so that they are polled again: the task of a busy application is not polled,
    /// and has not seen the messages that are there for it.
    pub(crate) fn take_attended(&self) -> bool {
        let woken: Vec<_> = self.list.iter().filter_map(Slot::take_waiter).collect();
        let is_attended = !woken.is_empty();
        woken.into_iter().for_each(Waker::wake);
        is_attended
    }

    /// Closes if no call is in a slot. Returns true if it closed.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.state.lock();
        let guards: Option<Vec<_>> = self.list.iter().map(Slot::try_lock).collect();
        let Some(guards) = guards else { return false };
        guards.into_iter().for_each(|mut guard| *guard = None);
        state.epoch = None;
        true
    }

    /// Ready once calls wait for an epoch. The first such call wakes the task.
    pub(crate) fn poll_wanted(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if !state.waiting.is_empty() {
            return Poll::Ready(());
        }
        state.closer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Ready once calls may start, or a call waits until it may start.
    pub(crate) fn poll_attendable(&self, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state.lock();
        if state.epoch.is_some() || !state.waiting.is_empty() {
            return Poll::Ready(());
        }
        state.watcher = Some(context.waker().clone());
        Poll::Pending
    }

    /// Opens `epoch`, and counts its messages from 0. All slots must have been found empty before.
    pub(crate) fn open(&self, epoch: &Arc<E>) {
        self.state.lock().counted_before = self.list.total();
        self.reopen(epoch);
    }

    /// Opens the closed epoch again.
    pub(crate) fn reopen(&self, epoch: &Arc<E>) {
        let mut state = self.state.lock();
        state.epoch = Some(epoch.clone());
        state.closer = None;
        for slot in self.list.iter() {
            slot.reopen();
            if let Some(mut guard) = slot.try_lock() {
                *guard = Some(epoch.clone());
            }
        }
        let waiting = std::mem::take(&mut state.waiting);
        let watcher = state.watcher.take();
        drop(state);
        waiting.into_iter().chain(watcher).for_each(Waker::wake);
    }

    /// Returns the number of messages that calls have moved in the epoch that was opened last. It is exact
    /// once all slots are empty.
    pub(crate) fn total(&self) -> u64 {
        self.list.total().wrapping_sub(self.state.lock().counted_before)
    }
}
