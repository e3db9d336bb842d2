//! The futures that wait for a socket.

use bertha_caladan_sys as sys;
use parking_lot::Mutex;
use std::ffi::{c_uint, c_ulong};
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

/// The events of `poll(2)`: `READABLE` reports that there is something to read, `WRITABLE` that there is room
/// to write. All other events are errors and ends, which concern both.
const READABLE: c_uint = 1;
const WRITABLE: c_uint = 4;

/// The futures that wait for a socket to become readable or writable.
///
/// Caladan reports this once, when the socket becomes readable or writable. So all futures are woken, and a
/// registered future looks once more before it waits.
#[derive(Default)]
pub(crate) struct Events {
    /// True if there may be something to read: `false` is right, `true` may be out of date. Caladan's
    /// callbacks change the flag under the lock of the socket's queue, so it ends in agreement with the
    /// queue.
    readable: AtomicBool,
    /// The waiting futures. The lock is never held while a future is woken; callbacks run with preemption
    /// disabled, as polls do, so no callback comes while a poll of the same kernel thread holds it.
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    read: Wakers,
    write: Wakers,
}

/// The wakers of waiting futures: mostly a single waker, for which nothing is allocated.
#[derive(Default)]
struct Wakers {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Wakers {
    #[inline]
    fn add(&mut self, waker: &Waker) {
        match &mut self.first {
            None => self.first = Some(waker.clone()),
            Some(first) if first.will_wake(waker) => {}
            Some(_) if self.more.iter().any(|other| other.will_wake(waker)) => {}
            Some(_) => self.more.push(waker.clone()),
        }
    }

    #[inline]
    fn wake(self) {
        if let Some(first) = self.first {
            first.wake();
        }
        self.more.into_iter().for_each(Waker::wake);
    }
}

impl Events {
    /// Returns true if a reading call may find something. The check spares all other calls, which would take
    /// a lock to find nothing.
    #[inline]
    pub(crate) fn may_be_readable(&self) -> bool {
        // Acquire pairs with the release in `wake`. A future that registers, and then finds `false`, misses
        // nothing: a thread that sets `true` afterwards takes the lock after that, and finds the future.
        self.readable.load(Ordering::Acquire)
    }

    /// Registers a future that wants to read. The future has to look again afterwards.
    #[inline]
    pub(crate) fn wait_to_read(&self, cx: &Context<'_>) {
        self.waiting.lock().read.add(cx.waker());
    }

    /// Registers a future that wants to write. The future has to look again afterwards.
    pub(crate) fn wait_to_write(&self, cx: &Context<'_>) {
        self.waiting.lock().write.add(cx.waker());
    }

    /// Wakes all waiting futures, which then ask the socket.
    pub(crate) fn wake_all(&self) {
        self.wake(READABLE | WRITABLE);
    }

    #[inline]
    fn wake(&self, events: c_uint) {
        let to_read = events & !WRITABLE != 0;
        let to_write = events & !READABLE != 0;
        if to_read {
            self.readable.store(true, Ordering::Release);
        }
        let mut waiting = self.waiting.lock();
        let read = if to_read { take(&mut waiting.read) } else { Wakers::default() };
        let write = if to_write { take(&mut waiting.write) } else { Wakers::default() };
        drop(waiting);
        read.wake();
        write.wake();
    }

    /// Returns the number that [`CALLBACKS`] expect.
    pub(super) fn data(&self) -> c_ulong {
        std::ptr::from_ref(self) as c_ulong
    }
}

/// Wakes futures when an event begins. Caladan holds the socket's lock, and preemption is disabled: the
/// callback only wakes. Wakers must not call the socket, and no waker of a task does; whatever else wakers
/// drop, sockets close in a thread of their own.
unsafe extern "C" fn begun(data: c_ulong, events: c_uint) {
    // SAFETY: the number comes from `Events::data`, of a value that the socket keeps in place; the socket
    // removes the callbacks under the same lock before it drops the value.
    let events_of = unsafe { &*(data as *const Events) };
    events_of.wake(events);
}

/// Records that an event has ended. Caladan calls it as it calls `begun`. No future waits for the end of an
/// event.
unsafe extern "C" fn ended(data: c_ulong, events: c_uint) {
    if events & READABLE != 0 {
        // SAFETY: as above.
        let events_of = unsafe { &*(data as *const Events) };
        // Relaxed access suffices: a reader only saves a call.
        events_of.readable.store(false, Ordering::Relaxed);
    }
}

/// The callbacks of a socket: for the beginning and the end of an event.
pub(super) const CALLBACKS: [Option<sys::OnEvents>; 2] = [Some(begun), Some(ended)];

bertha_core::debug_fields!(Events {});
