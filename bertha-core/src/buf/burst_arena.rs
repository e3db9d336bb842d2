//! Memory for the messages of a burst, one behind the other.

use super::Buf;
use crate::Error;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};

/// Places the messages of a burst directly behind each other, so that a datapath which sends several messages
/// in one call has nothing to copy.
///
/// A burst is encoded while the datapath takes it from an iterator. Just before it takes a message, the
/// datapath [offers](Self::offer) the memory behind the last message; its
/// [`Base::buffer`](crate::Base::buffer) makes the next message [in that memory](Self::buffer); and the
/// datapath [joins](Buf::join) the message, with its headers, to the last message. All of this happens in one
/// thread within one call, so the offer lies in a thread-local variable in the meantime: there is no lock,
/// and the layers in between pass nothing on. If those layers take no buffer from this connection, or keep
/// it, the message comes in a buffer of its own.
#[derive(Debug)]
pub struct BurstArena {
    /// Tells offers of different connections apart.
    id: u64,
}

thread_local! {
    /// The arena whose offer lies in `OFFER`.
    static OFFERED_BY: Cell<u64> = const { Cell::new(0) };
    /// Has no destructor, since each access to a thread-local variable with a destructor would check its
    /// state: a datapath takes its offer back itself.
    static OFFER: Cell<Option<ManuallyDrop<Buf>>> = const { Cell::new(None) };
}

impl BurstArena {
    /// Returns an arena for one connection.
    pub fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self { id: LAST.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    /// Offers `room`, with its contents and its tailroom, to the next [`buffer`](Self::buffer) of this
    /// thread. The caller [takes it back](Self::take_back) before the call ends; the next offer releases a
    /// forgotten offer.
    pub fn offer(&self, mut room: Buf) {
        room.view.empty();
        self.offer_rest(room);
    }

    /// Works as [`offer`](Self::offer), for the empty rest that [`Buf::join`] returns.
    #[inline]
    pub fn offer_rest(&self, room: Buf) {
        OFFERED_BY.set(self.id);
        // An older offer exists if the joined message was not made in it and yet lay behind the last message,
        // as messages that were received in one buffer do.
        if let Some(forgotten) = OFFER.replace(Some(ManuallyDrop::new(room))) {
            release(forgotten);
        }
    }

    /// Takes the offer back. Returns `None` if a message was made in it.
    #[inline]
    pub fn take_back(&self) -> Option<Buf> {
        if OFFERED_BY.get() != self.id {
            return None;
        }
        OFFER.take().map(ManuallyDrop::into_inner)
    }

    /// Returns a message of `len` arbitrary bytes with at least `headroom` in front: in the offered memory if
    /// that memory is large enough, else in a buffer from the pool.
    ///
    /// # Errors
    /// The errors of [`Buf::new`].
    #[inline(always)]
    pub fn buffer(&self, len: usize, headroom: usize) -> Result<Buf, Error> {
        if let Some(mut room) = self.take_back() {
            if room.view.place(headroom, len) {
                return Ok(room);
            }
            self.offer_rest(room);
        }
        fresh(len, headroom)
    }
}

#[cold]
fn release(forgotten: ManuallyDrop<Buf>) {
    drop(ManuallyDrop::into_inner(forgotten));
}

/// Allocates from the pool. Out of line, so that [`BurstArena::buffer`] stays short.
#[inline(never)]
fn fresh(len: usize, headroom: usize) -> Result<Buf, Error> {
    Buf::new(len, headroom)
}

impl Default for BurstArena {
    fn default() -> Self {
        Self::new()
    }
}
