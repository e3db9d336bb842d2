//! The place of a socket: the knowledge of a process and its forked children about it.

use crate::lock::{Lock, Taken};
use crate::memory::Memory;
use crate::time::milliseconds;
use bertha_sockets_machine::{Direction, Layout, Receiver, Sender, Side, Spins, Toll};
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};

/// The bytes that signal handlers may leave with the write that they interrupt.
pub(crate) const LATE: usize = 512;

/// The stage of a socket on its way into a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// The socket counts what it carries.
    Counting = 0,
    /// The socket has asked the daemon.
    Joining = 1,
    /// The socket has memory.
    Paired = 2,
    /// The socket stays with the kernel.
    Kernel = 3,
    /// The socket gets its memory, unless a call is under way that does not know of it. Who does that has both locks.
    Attaching = 4,
}

/// The knowledge of a process and its forked children about a socket, in memory that they share.
#[repr(C, align(64))]
#[derive(Debug)]
pub(crate) struct Place {
    /// The number of processes that have the socket; zero if the place is free.
    pub(crate) processes: AtomicU32,
    /// The number of calls of libc under way for a socket without memory. The socket gets none meanwhile.
    pub(crate) calls: AtomicU32,
    state: AtomicU8,
    pub(crate) nonblocking: AtomicBool,
    /// True once the program has shut the direction down that it writes.
    pub(crate) is_shut: AtomicBool,
    /// True once the program has shut the direction down that it reads.
    pub(crate) is_read_shut: AtomicBool,
    pub(crate) is_client: AtomicBool,
    pub(crate) nodelay: AtomicBool,
    pub(crate) corked: AtomicBool,
    pub(crate) toll: Toll,
    /// The spins of reads that wait.
    pub(crate) spins: Spins,
    writes: AtomicU32,
    /// The millisecond in which the kernel was last asked whether the other end is there.
    asked: AtomicU64,
    /// The tries to join that came to nothing.
    pub(crate) tries: AtomicU32,
    /// The socket to the daemon, plus one, while joining.
    pub(crate) request: AtomicI32,
    pub(crate) memory: Memory,
    ring: AtomicU32,
    sending: Lock,
    receiving: Lock,
    /// An error of the kernel that comes behind the bytes of the ring.
    pub(crate) error: AtomicI32,
    pub(crate) late_bytes: AtomicU32,
    pub(crate) late: UnsafeCell<[u8; LATE]>,
    sender: UnsafeCell<MaybeUninit<Sender>>,
    receiver: UnsafeCell<MaybeUninit<Receiver>>,
}

/// A lock of a place is not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// A handler of a signal interrupted the owner.
    Again,
    /// The owner died, so the connection has to end.
    Torn,
}

/// The locked sending half of a place with memory.
pub(crate) struct Sending<'a>(&'a Place);

/// The locked receiving half of a place with memory.
pub(crate) struct Receiving<'a>(&'a Place);

impl Place {
    #[inline]
    pub(crate) fn state(&self) -> State {
        match self.state.load(Ordering::SeqCst) {
            0 => State::Counting,
            1 => State::Joining,
            2 => State::Paired,
            4 => State::Attaching,
            _ => State::Kernel,
        }
    }

    /// Waits until the socket has got its memory, or none. Returns false to a handler of a signal in between.
    #[cold]
    pub(crate) fn has_attached(&self) -> bool {
        !matches!(self.receiving(), Err(Refused::Again))
    }

    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u8, Ordering::SeqCst);
    }

    /// Goes from one stage to the next. Returns false if another thread has left the first one.
    pub(crate) fn go_on_from(&self, first: State, next: State) -> bool {
        self.state.compare_exchange(first as u8, next as u8, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// Prepares a place that was taken for a new socket.
    pub(crate) fn prepare(&self) {
        for flag in [&self.nonblocking, &self.is_shut, &self.is_read_shut, &self.nodelay, &self.corked] {
            flag.store(false, Ordering::Relaxed);
        }
        self.toll.clear();
        self.spins.clear();
        self.tries.store(0, Ordering::Relaxed);
        self.request.store(0, Ordering::Relaxed);
        self.error.store(0, Ordering::Relaxed);
        self.late_bytes.store(0, Ordering::Relaxed);
        self.set_state(State::Counting);
    }

    /// Returns true once in a millisecond.
    pub(crate) fn is_time_to_ask(&self) -> bool {
        let now = milliseconds();
        self.asked.swap(now, Ordering::Relaxed) != now
    }

    /// Counts a write. Returns true if a test wants the stream to leave the ring now.
    pub(crate) fn is_time_to_move(&self, every: u32) -> bool {
        self.writes.fetch_add(1, Ordering::Relaxed) % every == every - 1
    }

    pub(crate) fn set_ring(&self, layout: Layout) {
        // The conversion is exact: rings have 64 MiB at most.
        self.ring.store(layout.ring_bytes() as u32, Ordering::Relaxed);
    }

    #[inline]
    fn layout(&self) -> Layout {
        Layout::at_most(self.ring.load(Ordering::Relaxed) as usize)
    }

    /// Returns one direction of the memory, if there is any. The caller has a lock.
    #[inline]
    pub(crate) fn side(&self, is_outgoing: bool) -> Option<Side<'_, AtomicU64>> {
        let is_from_client = self.is_client.load(Ordering::Relaxed) == is_outgoing;
        let direction = if is_from_client { Direction::FromClient } else { Direction::FromServer };
        let (layout, words) = (self.layout(), self.memory.words());
        (words.len() * 8 >= layout.memory_bytes()).then(|| Side::new(layout, words, direction))
    }

    /// Locks the sending half.
    #[inline]
    pub(crate) fn sending(&self) -> Result<Sending<'_>, Refused> {
        self.locked(&self.sending).map(|()| Sending(self))
    }

    /// Locks the receiving half.
    #[inline]
    pub(crate) fn receiving(&self) -> Result<Receiving<'_>, Refused> {
        self.locked(&self.receiving).map(|()| Receiving(self))
    }

    #[inline]
    fn locked(&self, lock: &Lock) -> Result<(), Refused> {
        match lock.take() {
            Taken::Free => Ok(()),
            Taken::Again => Err(Refused::Again),
            Taken::Torn => {
                lock.free();
                Err(Refused::Torn)
            }
        }
    }

    /// Puts both halves into their first states. The caller has both locks.
    pub(crate) fn begin(
        &self,
        sending: &Sending<'_>,
        receiving: &Receiving<'_>,
        sender: Sender,
        receiver: Receiver,
    ) {
        debug_assert!(std::ptr::eq(sending.0, self) && std::ptr::eq(receiving.0, self));
        // SAFETY: the lock, which `sending` proves, gives access to this thread alone.
        unsafe { (*self.sender.get()).write(sender) };
        // SAFETY: as above, for `receiving`.
        unsafe { (*self.receiver.get()).write(receiver) };
    }
}

impl<'a> Sending<'a> {
    /// Returns the state and the memory. The place has been paired.
    #[inline]
    pub(crate) fn parts(&mut self) -> Option<(&mut Sender, Side<'a, AtomicU64>)> {
        let side = self.0.side(true)?;
        // SAFETY: the lock, which this value proves, gives access to this thread alone.
        let sender = unsafe { &mut *self.0.sender.get() };
        // SAFETY: `begin` came before the memory was of use.
        let sender = unsafe { sender.assume_init_mut() };
        Some((sender, side))
    }
}

impl<'a> Receiving<'a> {
    /// Returns the memory of a place that may not have been paired.
    pub(crate) fn side(&self) -> Option<Side<'a, AtomicU64>> {
        self.0.side(false)
    }

    /// Returns the state and the memory. The place has been paired.
    #[inline]
    pub(crate) fn parts(&mut self) -> Option<(&mut Receiver, Side<'a, AtomicU64>)> {
        let side = self.0.side(false)?;
        // SAFETY: the lock, which this value proves, gives access to this thread alone.
        let receiver = unsafe { &mut *self.0.receiver.get() };
        // SAFETY: `begin` came before the memory was of use.
        let receiver = unsafe { receiver.assume_init_mut() };
        Some((receiver, side))
    }
}

impl Drop for Sending<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.sending.free();
    }
}

impl Drop for Receiving<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.receiving.free();
    }
}
