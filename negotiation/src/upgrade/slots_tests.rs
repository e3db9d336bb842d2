//! The slots of calls, one step at a time; `loom_tests` tries all orders of the steps.

use super::slot::Slot;
use super::slots::Slots;
use super::sync::SLOTS;
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

/// Returns a slot, found as by a call for which the first slot was not free.
fn find<'s>(slots: &'s Slots<u32>, context: &Context<'_>) -> &'s Slot<u32> {
    match slots.poll_find(context) {
        Poll::Ready(slot) => slot,
        Poll::Pending => panic!("closed"),
    }
}

#[test]
fn a_call_that_waits_is_asked_to_leave_and_one_that_waits_for_a_slot_to_come() {
    let slots = Slots::new(&Arc::new(1));
    let ((parked, first), (waiting, second), (closing, third)) = (task(), task(), task());
    let slot = slots.first();
    let guard = slot.acquire();
    let park = |waker: &Waker| slot.park(&Context::from_waker(waker));
    assert!(!park(&first) && !park(&first));
    slots.close();
    assert_eq!(parked.0.load(Ordering::Relaxed), 1);
    assert!(park(&first) && park(&first));
    assert!(slots.poll_find(&Context::from_waker(&second)).is_pending());
    assert!(slots.poll_empty(&Context::from_waker(&third)).is_pending());
    drop(guard);
    assert!(slot.acquire().is_none(), "a call comes although it was asked to stay away");
    assert!(slots.poll_find(&Context::from_waker(&second)).is_pending());
    assert_eq!(closing.0.load(Ordering::Relaxed), 1);
    assert!(slot.try_lock().is_some_and(|guard| guard.is_none()), "the epoch is still there");
    assert!(slots.poll_empty(&Context::from_waker(&third)).is_ready());
    assert_eq!(waiting.0.load(Ordering::Relaxed), 0);
    slots.open(&Arc::new(2));
    assert_eq!(waiting.0.load(Ordering::Relaxed), 1);
    assert_eq!(slot.acquire().and_then(|guard| guard.as_deref().copied()), Some(2));
}

#[test]
fn a_call_that_waits_on_in_an_epoch_that_was_opened_again_is_asked_again() {
    let epoch = Arc::new(1);
    let slots = Slots::new(&epoch);
    let ((parked, first), (other, second)) = (task(), task());
    let slot = slots.first();
    let guard = slot.acquire();
    let park = |waker: &Waker| slot.park(&Context::from_waker(waker));
    assert!(!park(&first));
    for times in 1..3 {
        slots.close();
        slots.reopen(&epoch);
        assert_eq!(parked.0.load(Ordering::Relaxed), times);
        assert!(!park(&first));
    }
    // The call that waits in the slot now is asked to leave.
    assert!(!park(&second));
    slots.close();
    assert_eq!((parked.0.load(Ordering::Relaxed), other.0.load(Ordering::Relaxed)), (2, 1));
    drop(guard);
}

#[test]
fn a_call_that_is_not_polled_again_does_not_attend() {
    let slots = Slots::new(&Arc::new(1));
    let (parked, waker) = task();
    let slot = slots.first();
    let guard = slot.acquire();
    assert!(!slots.take_attended());
    for times in 1..3 {
        assert!(!slot.park(&Context::from_waker(&waker)));
        assert!(slots.take_attended());
        // The task was woken, and is busy with other work.
        assert!(!slots.take_attended());
        assert_eq!(parked.0.load(Ordering::Relaxed), times);
    }
    drop(guard);
}

#[test]
fn there_are_slots_for_any_number_of_calls_at_once() {
    let slots = Slots::new(&Arc::new(1));
    let context = Context::from_waker(Waker::noop());
    let held: Vec<_> = (0..3 * SLOTS)
        .map(|_| {
            let slot = find(&slots, &context);
            (slot, slot.acquire().unwrap())
        })
        .collect();
    assert!(held.iter().all(|(_, guard)| guard.as_deref() == Some(&1)));
    assert!(!slots.close_if_empty());
    slots.close();
    for (_, guard) in held {
        assert!(slots.poll_empty(&context).is_pending());
        drop(guard);
    }
    assert!(slots.poll_empty(&context).is_ready());
    assert!(slots.poll_find(&context).is_pending());
}

#[test]
fn an_epoch_counts_from_nothing_and_one_that_is_opened_again_goes_on() {
    let epochs = [1, 2].map(Arc::new);
    let slots = Slots::new(&epochs[0]);
    let context = Context::from_waker(Waker::noop());
    let first = slots.first();
    first.count(3);
    let guard = first.acquire();
    let other = find(&slots, &context);
    assert!(!std::ptr::eq(first, other));
    other.count(2);
    other.count(-1);
    drop(guard);
    assert_eq!(slots.total(), 4);
    assert!(slots.close_if_empty());
    slots.reopen(&epochs[0]);
    assert_eq!(slots.total(), 4);
    assert!(slots.close_if_empty());
    slots.open(&epochs[1]);
    assert_eq!(slots.total(), 0);
    other.count(5);
    assert_eq!(slots.total(), 5);
}

/// A task that waits for calls while no call may start is woken by the first call, and by the end of that
/// time.
#[test]
fn who_waits_for_calls_looks_again_when_there_is_one() {
    let epoch = Arc::new(1);
    let slots = Slots::new(&epoch);
    let ((watching, first), (_, second)) = (task(), task());
    let is_ready = |waker: &Waker| slots.poll_attendable(&Context::from_waker(waker)).is_ready();
    assert!(is_ready(&first), "open");
    assert!(slots.close_if_empty());
    assert!(!is_ready(&first));
    assert!(slots.poll_find(&Context::from_waker(&second)).is_pending());
    assert_eq!(watching.0.load(Ordering::Relaxed), 1);
    assert!(is_ready(&first), "a call waits");
    slots.reopen(&epoch);
    assert!(slots.close_if_empty());
    assert!(!is_ready(&first));
    slots.reopen(&epoch);
    assert_eq!(watching.0.load(Ordering::Relaxed), 2);
}
