//! Who uses the round in force, in one direction.
//!
//! A call takes a *seat* for as long as it runs, and finds the round there. Whoever wants to end the round asks calls to
//! stay away, and empties one seat after the other as they become free; once all are empty nobody uses the round, and
//! nobody can until another is opened.
//!
//! A seat is taken by one compare-and-swap and left by one plain store. That nobody uses a round any more is decided by
//! the seats alone, each of which its user has exclusively; the flag that asks calls to stay away is no more than a
//! request, and seeing it late costs time only. So nothing here needs an order between two atomics.

use super::sync::{Arc, AtomicU32, AtomicU64, AtomicUsize, Guard, Mutex, Ordering, TryLock};
use std::task::{Context, Poll, Waker};

/// How many calls find a place without a lock. Others are guests: counted under a lock that is held for the counting.
pub(crate) const SEATS: usize = 4;

/// More waiting tasks than this are woken to ask again, so that no list grows without bound.
const WAITERS: usize = 64;

/// The places of one direction.
pub(crate) struct Seats<R> {
    seats: [TryLock<Option<Arc<R>>>; SEATS],
    /// For each seat, whoever waits in it for something else, and shall be told if it is to leave.
    parked: [Parked; SEATS],
    /// Odd while calls are asked to leave, and not to come. Another one each time that a round is closed or opened.
    phase: AtomicU32,
    rest: Mutex<Rest<R>>,
}

/// Who waits in a seat.
///
/// A task that waits there again in the same phase finds itself by three loads and has nothing more to say: who closes takes the
/// waker only after the phase has changed, and whoever is woken looks at the phase again. Only who has the seat writes them, and
/// what they point to can't have become another task's meanwhile, since the waker here keeps it alive.
#[derive(Default)]
struct Parked {
    waker: Mutex<Option<Waker>>,
    phase: AtomicU32,
    /// The waker's two pointers, as numbers.
    data: AtomicUsize,
    vtable: AtomicUsize,
}

struct Rest<R> {
    /// What is open; nothing while no call may start.
    round: Option<Arc<R>>,
    guests: usize,
    /// Calls that wait for a round.
    waiting: Vec<Waker>,
    /// Guests that wait for something else, and shall be told if they are to leave.
    parked: Vec<Waker>,
    /// Who waits for the places to become empty.
    closer: Option<Waker>,
}

/// A taken place.
// Fields are dropped in this order: first the seat is free, then whoever waits for it hears of it.
pub(crate) struct Taken<'s, R> {
    place: Place<'s, R>,
    _leaving: Leaving<'s, R>,
}

/// The first seat, taken: the same with less to carry around.
pub(crate) struct First<'s, R> {
    seat: Guard<'s, Option<Arc<R>>>,
    _leaving: Asked<'s, R>,
}

struct Asked<'s, R>(&'s Seats<R>);

enum Place<'s, R> {
    Seat(usize, Guard<'s, Option<Arc<R>>>),
    Guest(Arc<R>),
}

struct Leaving<'s, R> {
    seats: &'s Seats<R>,
    is_guest: bool,
}

impl<R> Seats<R> {
    /// Places at `round`.
    pub(crate) fn new(round: &Arc<R>) -> Self {
        Self {
            seats: std::array::from_fn(|_| TryLock::new(Some(round.clone()))),
            parked: Default::default(),
            phase: AtomicU32::new(0),
            rest: Mutex::new(Rest {
                round: Some(round.clone()),
                guests: 0,
                waiting: Vec::new(),
                parked: Vec::new(),
                closer: None,
            }),
        }
    }

    /// Takes the first seat, if it is free and the round open: almost always.
    #[inline(always)]
    pub(crate) fn sit(&self) -> Option<First<'_, R>> {
        let seat = self.seats[0].try_lock()?;
        if self.is_closing() || seat.is_none() {
            return None;
        }
        Some(First { seat, _leaving: Asked(self) })
    }

    /// Takes any place, once the round is open. More calls than there are seats at once come here, and calls during a
    /// switch.
    #[cold]
    pub(crate) fn poll_sit(&self, context: &mut Context<'_>) -> Poll<Taken<'_, R>> {
        let open = self.seats.iter().enumerate().filter(|_| !self.is_closing());
        for (number, seat) in open {
            if let Some(seat) = seat.try_lock().filter(|seat| seat.is_some()) {
                return Poll::Ready(self.taken(Place::Seat(number, seat)));
            }
        }
        let mut rest = lock(&self.rest);
        let Some(round) = rest.round.clone() else {
            remember(&mut rest.waiting, context.waker());
            let closer = rest.closer.take();
            drop(rest);
            closer.into_iter().for_each(Waker::wake);
            return Poll::Pending;
        };
        for (number, seat) in self.seats.iter().enumerate() {
            // Empty if somebody had it just when the round was opened. No other round can be in it.
            if let Some(mut seat) = seat.try_lock() {
                seat.get_or_insert(round);
                return Poll::Ready(self.taken(Place::Seat(number, seat)));
            }
        }
        rest.guests += 1;
        Poll::Ready(self.taken(Place::Guest(round)))
    }

    #[inline(always)]
    fn taken<'s>(&'s self, place: Place<'s, R>) -> Taken<'s, R> {
        let is_guest = matches!(place, Place::Guest(_));
        Taken { place, _leaving: Leaving { seats: self, is_guest } }
    }

    /// Whether calls are asked to leave.
    #[inline]
    pub(crate) fn is_closing(&self) -> bool {
        is_closing(self.phase.load(Ordering::Relaxed))
    }

    /// Remembers a call that waits while it has this place. Whether it shall leave instead.
    #[inline(always)]
    pub(crate) fn park(&self, place: usize, context: &Context<'_>) -> bool {
        match self.parked.get(place) {
            Some(parked) => {
                let phase = self.phase.load(Ordering::Relaxed);
                if !parked.is(phase, context.waker()) {
                    return self.tell(parked, context.waker());
                }
                is_closing(phase)
            }
            None => self.park_guest(context),
        }
    }

    #[cold]
    #[inline(never)]
    fn tell(&self, parked: &Parked, waker: &Waker) -> bool {
        let phase = self.phase.load(Ordering::Relaxed);
        // With some executors it is only another clone that equals a clone.
        let waker = waker.clone();
        if !parked.is(phase, &waker) {
            parked.set(phase, waker);
        }
        // After that, so that being asked to leave is not missed.
        self.is_closing()
    }

    #[cold]
    fn park_guest(&self, context: &Context<'_>) -> bool {
        let mut rest = lock(&self.rest);
        // Under the lock under which calls are asked to leave, so that it is not missed.
        if rest.round.is_none() {
            return true;
        }
        remember(&mut rest.parked, context.waker());
        false
    }

    /// Lets no further call start, and asks those with a place to leave.
    pub(crate) fn close(&self) {
        let mut rest = lock(&self.rest);
        rest.round = None;
        self.ask_to_leave();
        let parked = std::mem::take(&mut rest.parked);
        drop(rest);
        parked.into_iter().for_each(Waker::wake);
        self.parked.iter().filter_map(|parked| lock(&parked.waker).take()).for_each(Waker::wake);
    }

    /// Under the lock, as all changes of the phase.
    fn ask_to_leave(&self) {
        self.phase.store(self.phase.load(Ordering::Relaxed) | 1, Ordering::Relaxed);
    }

    /// Ready once all places are empty after a [`close`](Self::close). May have to be polled without having been woken:
    /// a call that leaves just then may not see that it is waited for.
    pub(crate) fn poll_empty(&self, context: &Context<'_>) -> Poll<()> {
        lock(&self.rest).closer = Some(context.waker().clone());
        let mut is_empty = true;
        for seat in &self.seats {
            match seat.try_lock() {
                Some(mut seat) => *seat = None,
                None => is_empty = false,
            }
        }
        if is_empty && lock(&self.rest).guests == 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Closes if no call has a place. Whether it did.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut rest = lock(&self.rest);
        let seats = self.seats.each_ref().map(|seat| seat.try_lock());
        if rest.guests > 0 || seats.iter().any(Option::is_none) {
            return false;
        }
        seats.into_iter().flatten().for_each(|mut seat| *seat = None);
        rest.round = None;
        self.ask_to_leave();
        true
    }

    /// Whether calls wait for a round; if not, the task is woken when the first comes.
    pub(crate) fn poll_wanted(&self, context: &Context<'_>) -> Poll<()> {
        let mut rest = lock(&self.rest);
        if !rest.waiting.is_empty() {
            return Poll::Ready(());
        }
        rest.closer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Opens `round`. Only after all places were found empty.
    pub(crate) fn open(&self, round: &Arc<R>) {
        let mut rest = lock(&self.rest);
        rest.round = Some(round.clone());
        rest.closer = None;
        let next = (self.phase.load(Ordering::Relaxed) | 1).wrapping_add(1);
        self.phase.store(next, Ordering::Relaxed);
        for seat in &self.seats {
            if let Some(mut seat) = seat.try_lock() {
                *seat = Some(round.clone());
            }
        }
        let waiting = std::mem::take(&mut rest.waiting);
        drop(rest);
        waiting.into_iter().for_each(Waker::wake);
    }

    #[cold]
    fn left(&self, is_guest: bool) {
        let mut rest = lock(&self.rest);
        rest.guests -= usize::from(is_guest);
        let closer = rest.closer.take();
        drop(rest);
        closer.into_iter().for_each(Waker::wake);
    }
}

/// Whether this is a phase in which calls are asked to leave.
fn is_closing(phase: u32) -> bool {
    phase & 1 != 0
}

fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Parked {
    /// Whether this task was told of in this phase.
    #[inline(always)]
    fn is(&self, phase: u32, waker: &Waker) -> bool {
        self.phase.load(Ordering::Relaxed) == phase
            && self.data.load(Ordering::Relaxed) == waker.data().addr()
            && self.vtable.load(Ordering::Relaxed) == std::ptr::from_ref(waker.vtable()).addr()
    }

    fn set(&self, phase: u32, waker: Waker) {
        self.data.store(waker.data().addr(), Ordering::Relaxed);
        self.vtable.store(std::ptr::from_ref(waker.vtable()).addr(), Ordering::Relaxed);
        self.phase.store(phase, Ordering::Relaxed);
        *lock(&self.waker) = Some(waker);
    }
}

impl<R> First<'_, R> {
    /// The number of this place.
    pub(crate) const PLACE: usize = 0;

    /// The round.
    #[inline(always)]
    pub(crate) fn round(&self) -> Option<&R> {
        self.seat.as_deref()
    }
}

impl<R> Drop for Asked<'_, R> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0.is_closing() {
            self.0.left(false);
        }
    }
}

impl<R> Taken<'_, R> {
    /// The round, and which place this is.
    #[inline(always)]
    pub(crate) fn round(&self) -> Option<(&R, usize)> {
        match &self.place {
            Place::Seat(number, seat) => seat.as_deref().map(|round| (round, *number)),
            Place::Guest(round) => Some((round, SEATS)),
        }
    }
}

impl<R> Drop for Leaving<'_, R> {
    #[inline]
    fn drop(&mut self) {
        if self.is_guest || self.seats.is_closing() {
            self.seats.left(self.is_guest);
        }
    }
}

fn remember(list: &mut Vec<Waker>, waker: &Waker) {
    if !list.iter().any(|known| known.will_wake(waker)) {
        if list.len() >= WAITERS {
            list.drain(..).for_each(Waker::wake);
        }
        list.push(waker.clone());
    }
}

/// How many messages calls have moved, by their places.
///
/// Whoever has a seat is the only one who writes its count, so a load and a store do; whoever finds the seat empty
/// later sees what was counted.
#[derive(Default)]
pub(crate) struct Tally {
    seats: [AtomicU64; SEATS],
    guests: AtomicU64,
}

impl Tally {
    /// Counts `count` messages more; fewer, if it is negative.
    #[inline]
    pub(crate) fn add(&self, place: usize, count: i64) {
        match self.seats.get(place) {
            Some(seat) => {
                seat.store(seat.load(Ordering::Relaxed).wrapping_add_signed(count), Ordering::Relaxed)
            }
            None => {
                self.guests.fetch_add(count as u64, Ordering::Relaxed);
            }
        }
    }

    /// All that were counted. Exact once all places are empty.
    pub(crate) fn total(&self) -> u64 {
        let seats = self.seats.iter().map(|seat| seat.load(Ordering::Relaxed));
        seats.fold(self.guests.load(Ordering::Relaxed), u64::wrapping_add)
    }
}
