//! The seats, the calls and the counts of a switching connection in every interleaving of a few calls and a switch.
#![allow(missing_docs, missing_debug_implementations, dead_code, unreachable_pub, clippy::unwrap_used)]

mod calls;
mod counts;
mod sound;
mod stack;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use sound::place::Place;
use sound::seats::Seats;
use std::task::{Context, Poll, Waker};

/// What the calls use.
#[derive(Default)]
struct Round {
    number: u64,
    has_ended: AtomicBool,
}

impl Round {
    fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { number, ..Self::default() })
    }
}

/// What a call does in its place.
fn work(round: &Round, place: &Place<Round>) -> u64 {
    assert!(!round.has_ended.load(Ordering::Relaxed), "a call uses a round that has ended");
    place.count(1);
    assert!(!round.has_ended.load(Ordering::Relaxed), "a round ends while a call uses it");
    round.number
}

/// One call, unless no round is open just then, or others are quicker: uses whatever is, and says which.
fn call_once(seats: &Seats<Round>) -> Option<u64> {
    let at = |place: &Place<Round>| place.sit()?.as_deref().map(|round| work(round, place));
    at(seats.first()).or_else(|| match seats.poll_find(&Context::from_waker(Waker::noop())) {
        Poll::Ready(place) => at(place),
        Poll::Pending => None,
    })
}

/// One call, as soon as a round is open.
fn call(seats: &Seats<Round>) -> u64 {
    loop {
        if let Some(round) = call_once(seats) {
            return round;
        }
        thread::yield_now();
    }
}

/// Ends `old` and opens `new`; says how many calls used the old one.
fn switch(seats: &Seats<Round>, old: &Round, new: &Arc<Round>) -> u64 {
    seats.close();
    while seats.poll_empty(&Context::from_waker(Waker::noop())).is_pending() {
        thread::yield_now();
    }
    old.has_ended.store(true, Ordering::Relaxed);
    let used = seats.total();
    seats.open(new);
    used
}

/// Tries all orders of the steps of a model's threads with so many preemptions at most.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn a_switch_waits_for_calls_and_counts_them_all() {
    explore(3, || {
        let (old, new) = (Round::new(0), Round::new(1));
        let seats = Arc::new(Seats::new(&old));
        let caller = {
            let seats = seats.clone();
            thread::spawn(move || [call(&seats), call(&seats)])
        };
        let used = switch(&seats, &old, &new);
        let rounds = caller.join().unwrap();
        assert!(rounds[0] <= rounds[1], "a caller goes back to an earlier round");
        assert_eq!(used, rounds.iter().filter(|round| **round == 0).count() as u64);
        assert_eq!(used + seats.total(), 2);
    });
}

#[test]
fn calls_of_two_tasks_at_once_are_counted() {
    explore(3, || {
        let (old, new) = (Round::new(0), Round::new(1));
        let seats = Arc::new(Seats::new(&old));
        let callers = [(); 2].map(|()| {
            let seats = seats.clone();
            thread::spawn(move || call_once(&seats))
        });
        let used = switch(&seats, &old, &new);
        let rounds = callers.map(|caller| caller.join().unwrap());
        assert_eq!(used, rounds.iter().filter(|round| **round == Some(0)).count() as u64);
        assert_eq!(seats.total(), rounds.iter().filter(|round| **round == Some(1)).count() as u64);
    });
}

#[test]
fn closing_what_is_empty_leaves_calls_alone() {
    explore(3, || {
        let round = Round::new(0);
        let seats = Arc::new(Seats::new(&round));
        let caller = {
            let seats = seats.clone();
            thread::spawn(move || call(&seats))
        };
        if seats.close_if_empty() {
            round.has_ended.store(true, Ordering::Relaxed);
            thread::yield_now();
            round.has_ended.store(false, Ordering::Relaxed);
            seats.open(&round);
        }
        assert_eq!(caller.join().unwrap(), 0);
    });
}

/// The same with a switch that does not wait until the seats are empty, which must be found out.
#[test]
#[should_panic(expected = "a round")]
fn a_switch_that_does_not_wait_is_found_out() {
    explore(3, || {
        let (old, new) = (Round::new(0), Round::new(1));
        let seats = Arc::new(Seats::new(&old));
        let caller = {
            let seats = seats.clone();
            thread::spawn(move || call(&seats))
        };
        seats.close();
        old.has_ended.store(true, Ordering::Relaxed);
        seats.open(&new);
        caller.join().unwrap();
    });
}
