//! Memory for the messages of a burst, one behind the other.

use super::Buf;
use crate::Error;
use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};

/// Places the messages of a burst one directly behind the other, so that a datapath which sends several as one has
/// nothing to copy.
///
/// A burst is encoded while the datapath takes it from an iterator. So just before it takes a message, the datapath
/// [offers](Self::offer) the memory behind the last one; its [`Base::buffer`](crate::Base::buffer) makes the next message
/// [there](Self::buffer); and the datapath [joins](Buf::join) the message, with its headers, to the last one. All of this
/// happens in one thread within one call, so the offer lies in a thread-local variable meanwhile: no lock, and nothing
/// for the layers in between to pass on. Where they don't ask for a buffer of this connection, or keep it, the message
/// comes in a buffer of its own.
#[derive(Debug)]
pub struct BurstArena {
    /// Tells offers of different connections apart.
    id: u64,
}

thread_local! {
    /// The arena whose offer lies in `OFFER`.
    static OFFERED_BY: Cell<u64> = const { Cell::new(0) };
    /// Without a destructor, which each access would have to ask about: a datapath takes its offer back.
    static OFFER: Cell<Option<ManuallyDrop<Buf>>> = const { Cell::new(None) };
}

impl BurstArena {
    /// An arena for one connection.
    pub fn new() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        Self { id: LAST.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    /// Offers `room`, with its contents and its tailroom, to the next [`buffer`](Self::buffer) of this thread. To be
    /// [taken back](Self::take_back) before the call ends; the next offer releases one that was forgotten.
    pub fn offer(&self, mut room: Buf) {
        room.view.empty();
        self.offer_rest(room);
    }

    /// As [`offer`](Self::offer), for the rest that [`Buf::join`] returns, which is empty already.
    #[inline]
    pub fn offer_rest(&self, room: Buf) {
        OFFERED_BY.set(self.id);
        // There is one if the message that was joined was made elsewhere, and yet lay behind the last, as messages that were
        // received in one buffer do.
        if let Some(forgotten) = OFFER.replace(Some(ManuallyDrop::new(room))) {
            release(forgotten);
        }
    }

    /// The offer, if no message was made in it.
    #[inline]
    pub fn take_back(&self) -> Option<Buf> {
        if OFFERED_BY.get() != self.id {
            return None;
        }
        OFFER.take().map(ManuallyDrop::into_inner)
    }

    /// A message of `len` arbitrary bytes with at least `headroom` in front: in the offer if it is large enough, else in a
    /// buffer from the pool.
    ///
    /// # Errors
    /// As for [`Buf::new`].
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

/// Out of line, so that the short way stays short.
#[inline(never)]
fn fresh(len: usize, headroom: usize) -> Result<Buf, Error> {
    Buf::new(len, headroom)
}

impl Default for BurstArena {
    fn default() -> Self {
        Self::new()
    }
}
