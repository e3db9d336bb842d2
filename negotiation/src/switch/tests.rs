//! The places of calls, one step at a time; the test under loom tries all orders of the steps.

use super::seats::{SEATS, Seats, Tally};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn task() -> (Arc<Woken>, Waker) {
    let woken = Arc::new(Woken::default());
    (woken.clone(), woken.into())
}

fn sit<'s>(seats: &'s Seats<u32>, context: &mut Context<'_>) -> super::seats::Taken<'s, u32> {
    match seats.poll_sit(context) {
        Poll::Ready(taken) => taken,
        Poll::Pending => panic!("closed"),
    }
}

#[test]
fn who_waits_at_a_place_is_told_to_leave_and_who_waits_for_one_to_come() {
    let seats = Seats::new(&Arc::new(1));
    let ((parked, first), (waiting, second), (closing, third)) = (task(), task(), task());
    let taken = sit(&seats, &mut Context::from_waker(&first));
    let park = |waker: &Waker| seats.park(0, &Context::from_waker(waker));
    assert!(!park(&first) && !park(&first));
    seats.close();
    assert_eq!(parked.0.load(Ordering::Relaxed), 1);
    assert!(park(&first));
    assert!(seats.sit().is_none() && seats.poll_sit(&mut Context::from_waker(&second)).is_pending());
    assert!(seats.poll_empty(&Context::from_waker(&third)).is_pending());
    drop(taken);
    assert_eq!(closing.0.load(Ordering::Relaxed), 1);
    assert!(seats.poll_empty(&Context::from_waker(&third)).is_ready());
    assert_eq!(waiting.0.load(Ordering::Relaxed), 0);
    seats.open(&Arc::new(2));
    assert_eq!(waiting.0.load(Ordering::Relaxed), 1);
    assert_eq!(seats.sit().and_then(|taken| taken.round().copied()), Some(2));
}

#[test]
fn who_waits_on_in_a_round_that_was_opened_again_is_told_again() {
    let round = Arc::new(1);
    let seats = Seats::new(&round);
    let ((parked, first), (other, second)) = (task(), task());
    let taken = seats.sit();
    let park = |waker: &Waker| seats.park(0, &Context::from_waker(waker));
    assert!(!park(&first));
    for times in 1..3 {
        seats.close();
        seats.open(&round);
        assert_eq!(parked.0.load(Ordering::Relaxed), times);
        assert!(!park(&first));
    }
    // Whoever waits there now is told.
    assert!(!park(&second));
    seats.close();
    assert_eq!((parked.0.load(Ordering::Relaxed), other.0.load(Ordering::Relaxed)), (2, 1));
    drop(taken);
}

#[test]
fn more_calls_than_seats_are_guests_and_are_waited_for() {
    let seats = Seats::new(&Arc::new(1));
    let mut context = Context::from_waker(Waker::noop());
    let mut taken: Vec<_> = (0..SEATS + 3).map(|_| sit(&seats, &mut context)).collect();
    let mut places: Vec<_> = taken.iter().filter_map(|taken| taken.round().map(|it| it.1)).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2, 3, 4, 4, 4]);
    assert!(!seats.close_if_empty());
    seats.close();
    while let Some(last) = taken.pop() {
        assert!(seats.poll_empty(&context).is_pending());
        drop(last);
    }
    assert!(seats.poll_empty(&context).is_ready());
}

#[test]
fn a_tally_counts_up_and_takes_back() {
    let tally = Tally::default();
    for place in 0..=SEATS {
        tally.add(place, 3);
        tally.add(place, -1);
    }
    assert_eq!(tally.total(), 2 * (SEATS as u64 + 1));
}
