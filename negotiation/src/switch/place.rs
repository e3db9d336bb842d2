//! Where calls sit.

use super::seats::lock;
use super::sync::{Arc, AtomicU64, AtomicUsize, Guard, Mutex, Ordering, PLACES, TryLock};
use std::sync::OnceLock;
use std::task::{Context, Waker};

/// A place for one call.
pub(crate) struct Place<R> {
    /// The round, as long as it is open.
    seat: TryLock<Option<Arc<R>>>,
    parked: Parked,
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
        Self { seat: TryLock::new(round), parked: Parked::default(), moved: AtomicU64::new(0) }
    }

    /// Takes the seat, if it is free. It is empty if no round is open.
    // Not asking whether calls are to stay away: they hear that when they leave.
    #[inline(always)]
    pub(crate) fn sit(&self) -> Option<Seat<'_, R>> {
        self.seat.try_lock()
    }

    /// Remembers the task of whoever sits here, and waits for something else. Whether it shall leave instead.
    #[inline(always)]
    pub(super) fn park(&self, context: &Context<'_>) -> bool {
        !self.parked.is(context.waker()) && self.parked.tell(context.waker())
    }

    /// Asks whoever sits here to leave, if it waits. The task is to be woken.
    pub(super) fn ask_to_leave(&self) -> Option<Waker> {
        let mut waiter = lock(&self.parked.waiter);
        waiter.shall_leave = true;
        // Where no waker's vtable is.
        self.parked.vtable.store(0, Ordering::Relaxed);
        waiter.waker.take()
    }

    /// From now on whoever sits here may wait.
    pub(super) fn let_stay(&self) {
        lock(&self.parked.waiter).shall_leave = false;
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

/// Who waits in a place.
///
/// A task that waits there again finds itself by two loads and has nothing more to say. Who closes forgets the task before it wakes
/// it, so whoever is woken has to say so again, and then hears that it shall leave. The two are written under the lock, and
/// what they point to can't have become another task's meanwhile, since the waker here keeps it alive.
#[derive(Default)]
struct Parked {
    waiter: Mutex<Waiter>,
    /// The waker's two pointers, as numbers.
    data: AtomicUsize,
    vtable: AtomicUsize,
}

#[derive(Default)]
struct Waiter {
    waker: Option<Waker>,
    shall_leave: bool,
}

impl Parked {
    /// Whether this task was told of.
    #[inline(always)]
    fn is(&self, waker: &Waker) -> bool {
        self.data.load(Ordering::Relaxed) == waker.data().addr()
            && self.vtable.load(Ordering::Relaxed) == std::ptr::from_ref(waker.vtable()).addr()
    }

    /// Tells of a task, unless it shall leave.
    #[cold]
    #[inline(never)]
    fn tell(&self, waker: &Waker) -> bool {
        let mut waiter = lock(&self.waiter);
        // With some executors it is only another clone that equals a clone.
        let waker = waker.clone();
        if !waiter.shall_leave && !self.is(&waker) {
            self.data.store(waker.data().addr(), Ordering::Relaxed);
            self.vtable.store(std::ptr::from_ref(waker.vtable()).addr(), Ordering::Relaxed);
            waiter.waker = Some(waker);
        }
        waiter.shall_leave
    }
}
