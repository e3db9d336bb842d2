//! Who uses the round in force, in one direction.
//!
//! A call takes a *seat* for as long as it runs, and finds the round there. Whoever wants to end the round asks calls to
//! stay away, and empties one seat after the other as they become free; once all are empty nobody uses the round, and
//! nobody can until another is opened.
//!
//! A seat is taken by one compare-and-swap and left by one plain store. That nobody uses a round any more is decided by
//! the seats alone, each of which its user has exclusively; the flag that asks calls to stay away is no more than a
//! request, and seeing it late costs time only. So nothing here needs an order between two atomics. A call reads it when it
//! comes, where it has the place at hand, and not when it leaves; so a caller that comes again and again can't keep others from
//! closing, and who closes looks again now and then.

use super::place::{Place, Places};
use super::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

/// More waiting tasks than this are woken to ask again, so that no list grows without bound.
const WAITERS: usize = 64;

/// The places of one direction.
pub struct Seats<R> {
    places: Places<R>,
    rest: Mutex<Rest<R>>,
}

struct Rest<R> {
    /// What is open; nothing while no call may start.
    round: Option<Arc<R>>,
    /// How many messages were counted before it was opened.
    before: u64,
    /// Calls that wait for a round.
    waiting: Vec<Waker>,
    /// Who waits for the places to become empty.
    closer: Option<Waker>,
}

impl<R> Seats<R> {
    /// Places at `round`.
    pub fn new(round: &Arc<R>) -> Self {
        let (waiting, closer) = Default::default();
        Self {
            places: Places::new(round),
            rest: Mutex::new(Rest { round: Some(round.clone()), before: 0, waiting, closer }),
        }
    }

    /// The place to try first. Almost always its seat is free, and the round in it.
    #[inline(always)]
    pub(crate) fn first(&self) -> &Place<R> {
        self.places.first()
    }

    /// Finds a place whose seat is free, once the round is open; somebody else may be quicker to take it. Several calls at once
    /// come here, and calls during a change.
    #[cold]
    #[inline(never)]
    pub(crate) fn poll_find(&self, context: &Context<'_>) -> Poll<&Place<R>> {
        let mut rest = lock(&self.rest);
        let Some(round) = rest.round.clone() else {
            remember(&mut rest.waiting, context.waker());
            // Whoever was asked to leave has just left.
            self.empty();
            let closer = rest.closer.take();
            drop(rest);
            closer.into_iter().for_each(Waker::wake);
            return Poll::Pending;
        };
        loop {
            for place in self.places.iter() {
                if let Some(mut seat) = place.take() {
                    // Empty if somebody had it just when the round was opened. No other round can be in it.
                    seat.get_or_insert(round);
                    return Poll::Ready(place);
                }
            }
            self.places.add();
        }
    }

    /// Takes the round out of all free seats. Whether all were free.
    fn empty(&self) -> bool {
        let mut is_empty = true;
        for place in self.places.iter() {
            match place.take() {
                Some(mut seat) => *seat = None,
                None => is_empty = false,
            }
        }
        is_empty
    }

    /// Whether no call may start.
    pub fn is_closed(&self) -> bool {
        lock(&self.rest).round.is_none()
    }

    /// Lets no further call start, and asks those with a place to leave.
    pub fn close(&self) {
        let mut rest = lock(&self.rest);
        rest.round = None;
        // Under the lock, so that nobody is asked to leave the round that is opened next.
        let asked: Vec<_> = self.places.iter().filter_map(Place::ask_to_leave).collect();
        drop(rest);
        asked.into_iter().for_each(Waker::wake);
    }

    /// Ready once all places are empty after a [`close`](Self::close). May have to be polled without having been woken:
    /// a call that leaves just then may not see that it is waited for.
    pub fn poll_empty(&self, context: &Context<'_>) -> Poll<()> {
        lock(&self.rest).closer = Some(context.waker().clone());
        if self.empty() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Closes if no call has a place. Whether it did.
    pub fn close_if_empty(&self) -> bool {
        let mut rest = lock(&self.rest);
        let seats: Option<Vec<_>> = self.places.iter().map(Place::take).collect();
        let Some(seats) = seats else { return false };
        seats.into_iter().for_each(|mut seat| *seat = None);
        rest.round = None;
        true
    }

    /// Whether calls wait for a round; if not, the task is woken when the first comes.
    pub fn poll_wanted(&self, context: &Context<'_>) -> Poll<()> {
        let mut rest = lock(&self.rest);
        if !rest.waiting.is_empty() {
            return Poll::Ready(());
        }
        rest.closer = Some(context.waker().clone());
        Poll::Pending
    }

    /// Opens `round`, and counts its messages from 0. Only after all places were found empty.
    pub fn open(&self, round: &Arc<R>) {
        lock(&self.rest).before = self.places.total();
        self.reopen(round);
    }

    /// Opens the round again that was closed.
    pub fn reopen(&self, round: &Arc<R>) {
        let mut rest = lock(&self.rest);
        rest.round = Some(round.clone());
        rest.closer = None;
        for place in self.places.iter() {
            place.let_stay();
            if let Some(mut seat) = place.take() {
                *seat = Some(round.clone());
            }
        }
        let waiting = std::mem::take(&mut rest.waiting);
        drop(rest);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// How many messages calls have moved in the round that was opened last. Exact once all places are empty.
    pub fn total(&self) -> u64 {
        self.places.total().wrapping_sub(lock(&self.rest).before)
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> impl std::ops::DerefMut<Target = T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn remember(list: &mut Vec<Waker>, waker: &Waker) {
    if !list.iter().any(|known| known.will_wake(waker)) {
        if list.len() >= WAITERS {
            list.drain(..).for_each(Waker::wake);
        }
        list.push(waker.clone());
    }
}
