//! The memory into which datagrams are received.

use bertha_core::{Buf, Error};
use std::cell::Cell;

/// Length of the longest message that is copied to a smaller buffer: the pool has no small buffers for longer
/// messages.
const FEW: usize = 512;

thread_local! {
    static FREE: Cell<Option<Buf>> = const { Cell::new(None) };
}

/// Memory for the next datagram of any socket: Caladan copies a datagram before it tells its length. While a
/// `Room` exists, a second `Room` in its thread has to allocate.
#[derive(Debug)]
pub(super) struct Room(Option<Buf>);

impl Room {
    #[inline]
    pub(super) fn take() -> Self {
        Self(FREE.take())
    }

    /// Returns memory for at least `len` bytes. All calls must have equal lengths.
    #[inline]
    pub(super) fn of(&mut self, len: usize) -> Result<&mut [u8], Error> {
        if self.0.is_none() {
            self.0 = Some(Buf::new(len, 0)?);
        }
        Ok(self.0.as_deref_mut().unwrap_or_default())
    }

    /// Returns the message of `len` bytes that was put into the memory.
    #[inline]
    pub(super) fn message(&mut self, len: usize) -> Result<Buf, Error> {
        match &mut self.0 {
            Some(room) if len <= FEW => Buf::copy_of(&room[..len], 0),
            room => {
                let mut message = room.take().map_or_else(|| Buf::new(0, 0), Ok)?;
                message.truncate(len);
                Ok(message)
            }
        }
    }
}

impl Drop for Room {
    #[inline]
    fn drop(&mut self) {
        FREE.set(self.0.take());
    }
}
