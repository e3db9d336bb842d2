//! The places of calls, one step at a time; the test under loom tries all orders of the steps.

use super::place::Place;
use super::seats::Seats;
use super::sync::PLACES;
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

/// A place, found as a call does that found the first one taken.
fn find<'s>(seats: &'s Seats<u32>, context: &Context<'_>) -> &'s Place<u32> {
    match seats.poll_find(context) {
        Poll::Ready(place) => place,
        Poll::Pending => panic!("closed"),
    }
}

#[test]
fn who_waits_at_a_place_is_told_to_leave_and_who_waits_for_one_to_come() {
    let seats = Seats::new(&Arc::new(1));
    let ((parked, first), (waiting, second), (closing, third)) = (task(), task(), task());
    let place = seats.first();
    let seat = place.sit();
    let park = |waker: &Waker| place.park(&Context::from_waker(waker));
    assert!(!park(&first) && !park(&first));
    seats.close();
    assert_eq!(parked.0.load(Ordering::Relaxed), 1);
    assert!(park(&first) && park(&first));
    assert!(seats.poll_find(&Context::from_waker(&second)).is_pending());
    assert!(seats.poll_empty(&Context::from_waker(&third)).is_pending());
    drop(seat);
    assert!(place.sit().is_none(), "a call comes although it was asked to stay away");
    assert!(seats.poll_find(&Context::from_waker(&second)).is_pending());
    assert_eq!(closing.0.load(Ordering::Relaxed), 1);
    assert!(place.take().is_some_and(|seat| seat.is_none()), "the round is still there");
    assert!(seats.poll_empty(&Context::from_waker(&third)).is_ready());
    assert_eq!(waiting.0.load(Ordering::Relaxed), 0);
    seats.open(&Arc::new(2));
    assert_eq!(waiting.0.load(Ordering::Relaxed), 1);
    assert_eq!(place.sit().and_then(|seat| seat.as_deref().copied()), Some(2));
}

#[test]
fn who_waits_on_in_a_round_that_was_opened_again_is_told_again() {
    let round = Arc::new(1);
    let seats = Seats::new(&round);
    let ((parked, first), (other, second)) = (task(), task());
    let place = seats.first();
    let seat = place.sit();
    let park = |waker: &Waker| place.park(&Context::from_waker(waker));
    assert!(!park(&first));
    for times in 1..3 {
        seats.close();
        seats.reopen(&round);
        assert_eq!(parked.0.load(Ordering::Relaxed), times);
        assert!(!park(&first));
    }
    // Whoever waits there now is told.
    assert!(!park(&second));
    seats.close();
    assert_eq!((parked.0.load(Ordering::Relaxed), other.0.load(Ordering::Relaxed)), (2, 1));
    drop(seat);
}

#[test]
fn there_are_places_for_any_number_of_calls_at_once() {
    let seats = Seats::new(&Arc::new(1));
    let context = Context::from_waker(Waker::noop());
    let places: Vec<_> = (0..3 * PLACES)
        .map(|_| {
            let place = find(&seats, &context);
            (place, place.sit().unwrap())
        })
        .collect();
    assert!(places.iter().all(|(_, seat)| seat.as_deref() == Some(&1)));
    assert!(!seats.close_if_empty());
    seats.close();
    for (_, seat) in places {
        assert!(seats.poll_empty(&context).is_pending());
        drop(seat);
    }
    assert!(seats.poll_empty(&context).is_ready());
    assert!(seats.poll_find(&context).is_pending());
}

#[test]
fn a_round_counts_from_nothing_and_one_that_is_opened_again_goes_on() {
    let rounds = [1, 2].map(Arc::new);
    let seats = Seats::new(&rounds[0]);
    let context = Context::from_waker(Waker::noop());
    let first = seats.first();
    first.count(3);
    let seat = first.sit();
    let other = find(&seats, &context);
    assert!(!std::ptr::eq(first, other));
    other.count(2);
    other.count(-1);
    drop(seat);
    assert_eq!(seats.total(), 4);
    assert!(seats.close_if_empty());
    seats.reopen(&rounds[0]);
    assert_eq!(seats.total(), 4);
    assert!(seats.close_if_empty());
    seats.open(&rounds[1]);
    assert_eq!(seats.total(), 0);
    other.count(5);
    assert_eq!(seats.total(), 5);
}
