//! The number of datagrams that this end has sent.

use super::sync::{AtomicU32, AtomicUsize, Ordering, THREADS, thread};

/// A count in parts, one for each thread, so that one addition is a load and a store.
///
/// A send makes its one read-modify-write when it acquires its slot. The slot could hold the count as well,
/// but not every datagram has a slot: Chunnels send datagrams of their own, too. Threads beyond [`THREADS`]
/// share a count.
#[derive(Default)]
pub(crate) struct Counter {
    own: [Own; THREADS],
    shared: AtomicU32,
}

/// The count of one thread, which no other thread writes.
#[derive(Default)]
struct Own {
    /// The thread's number; 0 if it is free.
    thread: AtomicUsize,
    count: AtomicU32,
}

impl Counter {
    /// Adds one, and returns the total before, without additions that run at the same time.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.next_of(thread())
    }

    /// Works as [`next`](Self::next), for a thread with this number, which is unique and not 0.
    #[inline]
    pub(crate) fn next_of(&self, thread: usize) -> u32 {
        let before = self.total();
        match self.own.iter().find(|own| own.is_of(thread)) {
            Some(own) => {
                let count = own.count.load(Ordering::Relaxed).wrapping_add(1);
                own.count.store(count, Ordering::Relaxed);
            }
            None => drop(self.shared.fetch_add(1, Ordering::Relaxed)),
        }
        before
    }

    /// Returns the total. It is exact once the caller has synchronised with all sends.
    #[inline]
    pub(crate) fn total(&self) -> u32 {
        let own = self.own.iter().map(|own| own.count.load(Ordering::Relaxed));
        own.fold(self.shared.load(Ordering::Relaxed), u32::wrapping_add)
    }
}

impl Own {
    /// Returns true if this count belongs to the thread; a free count belongs to it from now on.
    #[inline]
    fn is_of(&self, thread: usize) -> bool {
        match self.thread.load(Ordering::Relaxed) {
            0 => self.thread.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed).is_ok(),
            other => other == thread,
        }
    }
}
