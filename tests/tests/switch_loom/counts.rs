//! The count of the messages that a group's participant sends, while several threads send.

use super::explore;
use super::sound::counter::Counter;
use loom::sync::Arc;
use loom::thread;

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
    explore(3, || {
        let (numbers, total) = count(Counter::next);
        assert_eq!(total, 4);
        assert!(numbers.iter().all(|[first, second]| first < second && *second < 4), "{numbers:?}");
    });
}

#[test]
fn what_is_sent_after_another_is_numbered_after_it() {
    explore(3, || {
        let counter = Arc::new(Counter::default());
        let other = {
            let counter = counter.clone();
            thread::spawn(move || counter.next())
        };
        assert_eq!((other.join().unwrap(), counter.next(), counter.total()), (0, 1, 2));
    });
}

/// Two threads count as a single thread. The model must find this mistake.
#[test]
#[should_panic(expected = "assertion")]
fn a_count_that_two_threads_write_is_found_out() {
    explore(3, || assert_eq!(count(|counter| counter.next_of(7)).1, 4));
}
