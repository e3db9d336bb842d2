//! Where calls sit.

use super::last_waiter::LastWaiter;
use super::seats::lock;
use super::sync::{Arc, AtomicBool, AtomicU64, Guard, Mutex, Ordering, PLACES, TryLock};
use std::sync::OnceLock;
use std::task::{Context, Waker};

/// A place for one call.
pub(crate) struct Place<R> {
    /// The round, as long as it is open.
    seat: TryLock<Option<Arc<R>>>,
    /// Whether whoever sits here is asked to leave, and others not to come. Written under the lock of `waiter`.
    is_asked: AtomicBool,
    /// The task of whoever sits here, and waits for something else.
    waiter: Mutex<Option<Waker>>,
    last_waiter: LastWaiter,
    /// How many messages calls have moved here. Whoever has the seat is the only one who writes it, so a load and a store do;
    /// whoever finds the seat empty later sees what was counted.
    moved: AtomicU64,
}

/// A taken seat. The next call can have it as soon as this is dropped.
pub(crate) type Seat<'p, R> = Guard<'p, Option<Arc<R>>>;

/// As many places as there ever were calls at once. None is taken away, so that a call may keep a reference to its own.
pub(super) struct Places<R> {
    first: [Place<R>; PLACES],
    more: OnceLock<Box<Places<R>>>,
}

impl<R> Place<R> {
    fn new(round: Option<Arc<R>>) -> Self {
        Self {
            seat: TryLock::new(round),
            is_asked: AtomicBool::new(false),
            waiter: Mutex::new(None),
            last_waiter: LastWaiter::default(),
            moved: AtomicU64::new(0),
        }
    }

    /// Takes the seat for a call, if it is free, and calls are not asked to stay away. It is empty if no round is open.
    #[inline(always)]
    pub(crate) fn sit(&self) -> Option<Seat<'_, R>> {
        self.take().filter(|_| !self.is_asked.load(Ordering::Relaxed))
    }

    /// Takes the seat, if it is free.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<Seat<'_, R>> {
        self.seat.try_lock()
    }

    /// Remembers the task of whoever sits here, and waits for something else. Whether it shall leave instead.
    #[inline(always)]
    pub(super) fn park(&self, context: &Context<'_>) -> bool {
        !self.last_waiter.is(context.waker()) && self.tell(context.waker())
    }

    /// Tells of a task, unless it shall leave.
    #[cold]
    #[inline(never)]
    fn tell(&self, waker: &Waker) -> bool {
        let mut waiter = lock(&self.waiter);
        // With some executors it is only another clone that equals a clone.
        let waker = waker.clone();
        let is_asked = self.is_asked.load(Ordering::Relaxed);
        if !is_asked && !self.last_waiter.is(&waker) {
            self.last_waiter.set(&waker);
            *waiter = Some(waker);
        }
        is_asked
    }

    /// Asks whoever sits here to leave, and others not to come. The task is to be woken, if it waits.
    pub(super) fn ask_to_leave(&self) -> Option<Waker> {
        let mut waiter = lock(&self.waiter);
        self.is_asked.store(true, Ordering::Relaxed);
        self.last_waiter.forget();
        waiter.take()
    }

    /// From now on whoever sits here may wait.
    pub(super) fn let_stay(&self) {
        let _waiter = lock(&self.waiter);
        self.is_asked.store(false, Ordering::Relaxed);
    }

    /// Counts `count` messages more; fewer, if it is negative.
    #[inline(always)]
    pub(crate) fn count(&self, count: i64) {
        let moved = self.moved.load(Ordering::Relaxed).wrapping_add_signed(count);
        self.moved.store(moved, Ordering::Relaxed);
    }
}

impl<R> Places<R> {
    pub(super) fn new(round: &Arc<R>) -> Self {
        Self { first: std::array::from_fn(|_| Place::new(Some(round.clone()))), more: OnceLock::new() }
    }

    /// The one that is tried first.
    #[inline(always)]
    pub(super) fn first(&self) -> &Place<R> {
        &self.first[0]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Place<R>> {
        let blocks = std::iter::successors(Some(self), |places| places.more.get().map(|more| &**more));
        blocks.flat_map(|places| &places.first)
    }

    /// Adds some that are empty. By one caller at a time.
    #[cold]
    pub(super) fn add(&self) {
        let mut last = self;
        while let Some(more) = last.more.get() {
            last = more;
        }
        let first = std::array::from_fn(|_| Place::new(None));
        let _ = last.more.set(Box::new(Self { first, more: OnceLock::new() }));
    }

    /// All messages that were counted. Exact once all places are empty.
    pub(super) fn total(&self) -> u64 {
        self.iter().map(|place| place.moved.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }
}
