//! A slot: the place at which one call uses the current stack.

use super::sync::{Arc, AtomicBool, AtomicU64, AtomicWaker, Guard, Ordering, SLOTS, TryLock};
use std::sync::OnceLock;
use std::task::{Context, Waker};

/// A place for one call at a time, with a reference to the current epoch.
pub(crate) struct Slot<E> {
    /// The epoch, as long as it is open.
    epoch: TryLock<Option<Arc<E>>>,
    /// The closing flag: the call in the slot is asked to leave, and other calls to stay away.
    is_closing: AtomicBool,
    /// The task of the call in the slot, if the call waits for another event.
    waiter: AtomicWaker,
    /// Number of messages that calls have moved here. Only the holder of the guard writes it, so a load and a
    /// store suffice; a closer that finds the slot free sees all counts.
    moved: AtomicU64,
}

/// An acquired slot. Dropping it leaves the slot to the next call.
pub(crate) type SlotGuard<'s, E> = Guard<'s, Option<Arc<E>>>;

/// A list with as many slots as there ever were calls at once. No slot is removed, so a call may keep a
/// reference to its own.
pub(super) struct SlotList<E> {
    first: [Slot<E>; SLOTS],
    next: OnceLock<Box<SlotList<E>>>,
}

impl<E> Slot<E> {
    fn new(epoch: Option<Arc<E>>) -> Self {
        Self {
            epoch: TryLock::new(epoch),
            is_closing: AtomicBool::new(false),
            waiter: AtomicWaker::new(),
            moved: AtomicU64::new(0),
        }
    }

    /// Returns the guard for a call, if the slot is free and not closing. The guard holds `None` if no epoch
    /// is open.
    #[inline(always)]
    pub(crate) fn acquire(&self) -> Option<SlotGuard<'_, E>> {
        self.try_lock().filter(|_| !self.is_closing.load(Ordering::Relaxed))
    }

    /// Returns the guard, if the slot is free.
    #[inline(always)]
    pub(super) fn try_lock(&self) -> Option<SlotGuard<'_, E>> {
        self.epoch.try_lock()
    }

    /// Registers the task of the call in the slot, which waits for another event. Returns true if the call
    /// has to leave instead.
    #[inline(always)]
    pub(super) fn park(&self, context: &Context<'_>) -> bool {
        // The task is registered before the flag is read, so a close after the read wakes the task.
        self.waiter.register(context.waker());
        self.is_closing.load(Ordering::Relaxed)
    }

    /// Asks the call in the slot to leave, and other calls to stay away. Returns the task to wake, if the
    /// call waits.
    pub(super) fn close(&self) -> Option<Waker> {
        self.is_closing.store(true, Ordering::Relaxed);
        self.waiter.take()
    }

    /// Returns the task of the call that waits in the slot, if it has registered since the last call of this
    /// method. It registers again if it is woken and goes on waiting.
    pub(super) fn take_waiter(&self) -> Option<Waker> {
        self.waiter.take()
    }

    /// Ends the closing: calls may enter and wait again.
    pub(super) fn reopen(&self) {
        self.is_closing.store(false, Ordering::Relaxed);
    }

    /// Adds `count` messages, which may be negative.
    #[inline(always)]
    pub(crate) fn count(&self, count: i64) {
        let moved = self.moved.load(Ordering::Relaxed).wrapping_add_signed(count);
        self.moved.store(moved, Ordering::Relaxed);
    }
}

impl<E> SlotList<E> {
    pub(super) fn new(epoch: &Arc<E>) -> Self {
        Self { first: std::array::from_fn(|_| Slot::new(Some(epoch.clone()))), next: OnceLock::new() }
    }

    /// Returns the slot that a call tries first.
    #[inline(always)]
    pub(super) fn first(&self) -> &Slot<E> {
        &self.first[0]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot<E>> {
        let blocks = std::iter::successors(Some(self), |list| list.next.get().map(|next| &**next));
        blocks.flat_map(|list| &list.first)
    }

    /// Adds some empty slots. Only one caller may add at a time.
    #[cold]
    pub(super) fn add(&self) {
        let mut last = self;
        while let Some(next) = last.next.get() {
            last = next;
        }
        let first = std::array::from_fn(|_| Slot::new(None));
        let _ = last.next.set(Box::new(Self { first, next: OnceLock::new() }));
    }

    /// Returns the sum of all counts. It is exact once all slots are empty.
    pub(super) fn total(&self) -> u64 {
        self.iter().map(|slot| slot.moved.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}
