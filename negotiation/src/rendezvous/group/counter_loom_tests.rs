//! The count of the datagrams that a participant sends, in every interleaving of threads that send.
//! `scripts/loom` runs them.

use super::counter::Counter;
use loom::sync::Arc;
use loom::thread;

/// Runs a model in all orders of the steps of its threads, with at most three preemptions.
fn explore(model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}

/// Counts twice in each of two threads. Returns the numbers that each thread got, and the total.
fn count(next: fn(&Counter) -> u32) -> ([[u32; 2]; 2], u32) {
    let counter = Arc::new(Counter::default());
    let other = {
        let counter = counter.clone();
        thread::spawn(move || [next(&counter), next(&counter)])
    };
    let own = [next(&counter), next(&counter)];
    let numbers = [own, other.join().unwrap()];
    (numbers, counter.total())
}

#[test]
fn all_are_counted_and_each_thread_counts_upwards() {
    explore(|| {
        let (numbers, total) = count(Counter::next);
        assert_eq!(total, 4);
        assert!(numbers.iter().all(|[first, second]| first < second && *second < 4), "{numbers:?}");
    });
}

#[test]
fn what_is_sent_after_another_is_numbered_after_it() {
    explore(|| {
        let counter = Arc::new(Counter::default());
        let other = {
            let counter = counter.clone();
            thread::spawn(move || counter.next())
        };
        assert_eq!((other.join().unwrap(), counter.next(), counter.total()), (0, 1, 2));
    });
}

/// The models notice two threads that have one number.
#[test]
#[should_panic(expected = "assertion")]
fn a_count_that_two_threads_write_is_found_out() {
    explore(|| assert_eq!(count(|counter| counter.next_of(7)).1, 4));
}
