//! Where datagrams are received.

use bertha_core::{Buf, Error};
use std::cell::Cell;

/// The longest messages that are copied to a smaller buffer: beyond it there is none in the pool.
const FEW: usize = 512;

thread_local! {
    static FREE: Cell<Option<Buf>> = const { Cell::new(None) };
}

/// Room for the next datagram of any socket: Caladan copies a datagram before it tells its length. While one of these exists, another one in
/// the same thread has to allocate.
#[derive(Debug)]
pub(super) struct Room(Option<Buf>);

impl Room {
    #[inline]
    pub(super) fn take() -> Self {
        Self(FREE.take())
    }

    /// Room for `len` bytes at least; all calls are of the same length.
    #[inline]
    pub(super) fn of(&mut self, len: usize) -> Result<&mut [u8], Error> {
        if self.0.is_none() {
            self.0 = Some(Buf::new(len, 0)?);
        }
        Ok(self.0.as_deref_mut().unwrap_or_default())
    }

    /// The message of `len` bytes that was put into the room.
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
