//! The slots of calls, without the calls' futures.

use super::explore;
use crate::upgrade::slot::Slot;
use crate::upgrade::slots::Slots;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// The epoch that the calls use.
#[derive(Default)]
struct Epoch {
    number: u64,
    has_ended: AtomicBool,
}

impl Epoch {
    fn new(number: u64) -> Arc<Self> {
        Arc::new(Self { number, ..Self::default() })
    }
}

/// Does the work of a call in its slot. Returns the number of the epoch.
fn work(epoch: &Epoch, slot: &Slot<Epoch>) -> u64 {
    assert!(!epoch.has_ended.load(Ordering::Relaxed), "a call uses an epoch that has ended");
    slot.count(1);
    assert!(!epoch.has_ended.load(Ordering::Relaxed), "an epoch ends while a call uses it");
    epoch.number
}

/// Makes a call in the open epoch, and returns the epoch's number. Returns `None` if no epoch is open, or if
/// other calls are quicker.
fn call_once(slots: &Slots<Epoch>) -> Option<u64> {
    let at = |slot: &Slot<Epoch>| slot.acquire()?.as_deref().map(|epoch| work(epoch, slot));
    at(slots.first()).or_else(|| match slots.poll_find(&Context::from_waker(Waker::noop())) {
        Poll::Ready(slot) => at(slot),
        Poll::Pending => None,
    })
}

/// Makes a call as soon as an epoch is open.
fn call(slots: &Slots<Epoch>) -> u64 {
    loop {
        if let Some(epoch) = call_once(slots) {
            return epoch;
        }
        thread::yield_now();
    }
}

/// Ends `old` and opens `new`. Returns the number of calls that used the old epoch.
fn switch(slots: &Slots<Epoch>, old: &Epoch, new: &Arc<Epoch>) -> u64 {
    slots.close();
    while slots.poll_empty(&Context::from_waker(Waker::noop())).is_pending() {
        thread::yield_now();
    }
    old.has_ended.store(true, Ordering::Relaxed);
    let used = slots.total();
    slots.open(new);
    used
}

#[test]
fn a_switch_waits_for_calls_and_counts_them_all() {
    explore(3, || {
        let old = Epoch::new(0);
        let new = Epoch::new(1);
        let slots = Arc::new(Slots::new(&old));
        let caller = {
            let slots = slots.clone();
            thread::spawn(move || [call(&slots), call(&slots)])
        };
        let used = switch(&slots, &old, &new);
        let epochs = caller.join().unwrap();
        assert!(epochs[0] <= epochs[1], "a caller goes back to an earlier epoch");
        assert_eq!(used, epochs.iter().filter(|epoch| **epoch == 0).count() as u64);
        assert_eq!(used + slots.total(), 2);
    });
}

#[test]
fn calls_of_two_tasks_at_once_are_counted() {
    explore(3, || {
        let old = Epoch::new(0);
        let new = Epoch::new(1);
        let slots = Arc::new(Slots::new(&old));
        let callers = [(); 2].map(|()| {
            let slots = slots.clone();
            thread::spawn(move || call_once(&slots))
        });
        let used = switch(&slots, &old, &new);
        let epochs = callers.map(|caller| caller.join().unwrap());
        assert_eq!(used, epochs.iter().filter(|epoch| **epoch == Some(0)).count() as u64);
        assert_eq!(slots.total(), epochs.iter().filter(|epoch| **epoch == Some(1)).count() as u64);
    });
}

#[test]
fn closing_what_is_empty_leaves_calls_alone() {
    explore(3, || {
        let epoch = Epoch::new(0);
        let slots = Arc::new(Slots::new(&epoch));
        let caller = {
            let slots = slots.clone();
            thread::spawn(move || call(&slots))
        };
        if slots.close_if_empty() {
            epoch.has_ended.store(true, Ordering::Relaxed);
            thread::yield_now();
            epoch.has_ended.store(false, Ordering::Relaxed);
            slots.open(&epoch);
        }
        assert_eq!(caller.join().unwrap(), 0);
    });
}

/// The models notice a switch that does not wait until the slots are empty.
#[test]
#[should_panic(expected = "an epoch")]
fn a_switch_that_does_not_wait_is_found_out() {
    explore(3, || {
        let old = Epoch::new(0);
        let new = Epoch::new(1);
        let slots = Arc::new(Slots::new(&old));
        let caller = {
            let slots = slots.clone();
            thread::spawn(move || call(&slots))
        };
        slots.close();
        old.has_ended.store(true, Ordering::Relaxed);
        slots.open(&new);
        caller.join().unwrap();
    });
}
