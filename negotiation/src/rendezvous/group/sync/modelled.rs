//! The primitives of loom.

pub(in crate::rendezvous::group) use loom::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

/// Number of threads that have a count of their own: fewer than the models have threads.
pub(in crate::rendezvous::group) const THREADS: usize = 1;

/// Returns the unique number of this thread of the model.
pub(in crate::rendezvous::group) fn thread() -> usize {
    let name = format!("{:?}", loom::thread::current().id());
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    1 + digits.parse::<usize>().unwrap()
}
