//! A lock among the threads of a process and of its forked children, which survives the death of its owner.

use crate::number_path::NumberPath;
use crate::real;
use std::cell::Cell;
use std::ptr::{eq, null};
use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};

/// The most locks that a thread has at once: a few of a call, and those of handlers of signals in its midst.
const MOST: usize = 8;

/// The knowledge of a thread about itself.
struct Thread {
    /// The number of the thread, or zero.
    number: Cell<u32>,
    /// Locks that the thread took. It has all of these that it has not given back.
    taken: [Cell<*const Lock>; MOST],
}

thread_local! {
    static THREAD: Thread =
        const { Thread { number: Cell::new(0), taken: [const { Cell::new(null()) }; MOST] } };
}

/// Returns the number of this thread, which no other thread of the machine has.
#[inline]
fn thread() -> u32 {
    THREAD.with(Thread::number)
}

/// Forgets the number of this thread, in a child.
pub(crate) fn forget_thread() {
    THREAD.with(|thread| thread.number.set(0));
}

/// Gives all locks of this thread back, since it jumps out of the calls that took them. What they protect is as a call leaves it that a
/// signal interrupts at this place.
pub(crate) fn give_all_back() {
    THREAD.with(|thread| {
        for lock in thread.taken.iter().filter_map(|taken| thread.has(taken.get())) {
            lock.free();
        }
    });
}

impl Thread {
    #[inline]
    fn number(&self) -> u32 {
        let known = self.number.get();
        if known != 0 { known } else { self.ask_for_number() }
    }

    #[cold]
    fn ask_for_number(&self) -> u32 {
        // SAFETY: the call takes no arguments.
        let number = unsafe { real::syscall(libc::SYS_gettid, 0, 0, 0, 0, 0, 0) };
        let number = u32::try_from(number).unwrap_or(1);
        self.number.set(number);
        number
    }

    /// Notes a lock before it is taken, so that it is known from the first instruction on.
    #[inline]
    fn note(&self, lock: &Lock) {
        // A call uses the same two, for the most part.
        if !eq(self.taken[0].get(), lock) && !eq(self.taken[1].get(), lock) {
            self.note_another(lock);
        }
    }

    #[inline(never)]
    fn note_another(&self, lock: &Lock) {
        let is_free = |taken: &&Cell<*const Lock>| self.has(taken.get()).is_none();
        if let Some(taken) = self.taken.iter().find(is_free) {
            taken.set(lock);
        }
    }

    /// Returns the lock if the thread has it.
    fn has(&self, lock: *const Lock) -> Option<&Lock> {
        // SAFETY: a lock lies in memory that the process has as long as it lives, or the pointer is null.
        let lock = unsafe { lock.as_ref() }?;
        (lock.0.load(Ordering::Relaxed) == self.number()).then_some(lock)
    }
}

/// The outcome of a lock that was not taken as usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The thread has the lock already: this is a handler of a signal that came in between.
    Again,
    /// The owner died with the lock. What it protects may be half done.
    Torn,
    /// The lock was free.
    Free,
}

/// A lock, zero if it is free, or else the number of its owner.
#[derive(Debug)]
pub(crate) struct Lock(AtomicU32);

impl Lock {
    /// Creates a free lock.
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Takes the lock. A thread that has it already does not get it again.
    #[inline]
    pub(crate) fn take(&self) -> Taken {
        let thread = THREAD.with(|thread| {
            thread.note(self);
            compiler_fence(Ordering::Release);
            thread.number()
        });
        match self.0.compare_exchange(0, thread, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Taken::Free,
            Err(owner) => self.wait(owner),
        }
    }

    /// Gives the lock back.
    #[inline]
    pub(crate) fn free(&self) {
        self.0.store(0, Ordering::Release);
    }

    #[cold]
    fn wait(&self, owner: u32) -> Taken {
        if owner == thread() {
            return Taken::Again;
        }
        for round in 1_u32.. {
            match self.0.compare_exchange(0, thread(), Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Taken::Free,
                Err(owner) if round.is_multiple_of(1024) && is_dead(owner) => {
                    let stolen =
                        self.0.compare_exchange(owner, thread(), Ordering::Acquire, Ordering::Relaxed);
                    if stolen.is_ok() {
                        return Taken::Torn;
                    }
                }
                Err(_) if round < 64 => std::hint::spin_loop(),
                Err(_) => {
                    // SAFETY: the call takes no arguments.
                    unsafe { real::syscall(libc::SYS_sched_yield, 0, 0, 0, 0, 0, 0) };
                }
            }
        }
        Taken::Free
    }
}

/// Returns true if no thread has this number any more, or only its entry is left until its parent asks for it.
fn is_dead(thread: u32) -> bool {
    // SAFETY: signal zero is sent to nobody.
    let sent = unsafe { real::syscall(libc::SYS_tkill, thread as usize, 0, 0, 0, 0, 0) };
    sent < 0 && crate::errno::last() == libc::ESRCH || is_zombie(thread)
}

fn is_zombie(thread: u32) -> bool {
    let path = NumberPath::new("/proc/", thread, "/stat");
    let (at_fdcwd, flags) = (libc::AT_FDCWD as usize, (libc::O_RDONLY | libc::O_CLOEXEC) as usize);
    // SAFETY: the path ends by a zero.
    let file = unsafe { real::syscall(libc::SYS_openat, at_fdcwd, path.address(), flags, 0, 0, 0) };
    let Ok(file) = i32::try_from(file) else { return false };
    if file < 0 {
        return false;
    }
    let mut line = [0_u8; 128];
    // SAFETY: the buffer has this length.
    let read = unsafe { real::read(file, line.as_mut_ptr().cast(), line.len()) };
    // SAFETY: the descriptor was opened above.
    unsafe { real::close(file) };
    let line = &line[..usize::try_from(read).unwrap_or(0)];
    let state = line.iter().rposition(|byte| *byte == b')').and_then(|at| line.get(at + 2));
    matches!(state, Some(b'Z' | b'X'))
}
