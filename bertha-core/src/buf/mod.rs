//! The one buffer type of all datapaths.
//!
//! `unsafe` is confined to this folder; see the SAFETY comments.

mod block;
mod depot;
mod raw;

use crate::{Error, ErrorKind};
pub use raw::{RawBuf, Vtable};
use std::fmt;
use std::io::Write;
use std::ops::{Deref, DerefMut};

/// A message in bytes, with room in front of it for the headers of lower layers.
///
/// ```text
///   headroom      len        tailroom
/// |----------|-------------|----------|
///            ^ what it dereferences to
/// ```
///
/// A Chunnel that adds a header calls [`prepend`](Self::prepend) and copies nothing; one that removes a header calls
/// [`advance`](Self::advance). The storage belongs to whoever made the buffer, a pool in this process or a datapath's
/// own memory, and goes back there on drop. Get one for sending from [`Base::buffer`](crate::Base::buffer), so that
/// the datapath can send it as it is.
///
/// ```
/// # use bertha_core::Buf;
/// let mut buf = Buf::new(5, 4)?;
/// buf.copy_from_slice(b"hello");
/// buf.prepend(4)?.copy_from_slice(&5u32.to_be_bytes());
/// assert_eq!(&*buf, b"\0\0\0\x05hello");
/// buf.advance(4)?;
/// assert_eq!(&*buf, b"hello");
/// # Ok::<(), bertha_core::Error>(())
/// ```
pub struct Buf {
    raw: RawBuf,
}

impl Buf {
    /// A pooled buffer of `len` arbitrary bytes with at least `headroom` bytes in front.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) beyond 1 GiB.
    #[inline]
    pub fn new(len: usize, headroom: usize) -> Result<Self, Error> {
        match len.checked_add(headroom) {
            Some(capacity) if capacity <= block::MOST => Ok(Self { raw: block::take(len, headroom) }),
            _ => Err(no_such_buffer(len)),
        }
    }

    /// A pooled buffer that holds a copy of `bytes`, with `headroom` bytes in front.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn copy_of(bytes: &[u8], headroom: usize) -> Result<Self, Error> {
        let mut buf = Self::new(bytes.len(), headroom)?;
        buf.copy_from_slice(bytes);
        Ok(buf)
    }

    /// A buffer over memory that a datapath owns.
    ///
    /// # Safety
    /// `raw` must keep the promises listed at [`RawBuf`].
    pub unsafe fn from_raw(raw: RawBuf) -> Self {
        Self { raw }
    }

    /// Gives a datapath its memory back, if `vtable` is what made this buffer; otherwise returns the buffer, which
    /// then is foreign and has to be copied.
    ///
    /// # Errors
    /// The buffer itself, if it has another owner.
    pub fn into_raw(self, vtable: &'static Vtable) -> Result<RawBuf, Self> {
        if std::ptr::eq(self.raw.vtable, vtable) {
            let this = std::mem::ManuallyDrop::new(self);
            Ok(this.raw)
        } else {
            Err(self)
        }
    }

    /// Bytes free in front of the message.
    pub fn headroom(&self) -> usize {
        self.raw.headroom as usize
    }

    /// Bytes free behind the message.
    pub fn tailroom(&self) -> usize {
        self.raw.tailroom as usize
    }

    /// Grows the message by `n` bytes at the front, of arbitrary content, and returns them for writing.
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) if the headroom is smaller; reserve it with
    /// [`Base::reserve`](crate::Base::reserve).
    #[inline]
    pub fn prepend(&mut self, n: usize) -> Result<&mut [u8], Error> {
        if n > self.headroom() {
            return Err(no_room("headroom", n, self.headroom()));
        }
        self.raw.move_front_back(n as u32);
        Ok(&mut self[..n])
    }

    /// Removes `n` bytes from the front; they become headroom.
    ///
    /// # Errors
    /// [`Malformed`](ErrorKind::Malformed) if the message is shorter, since a header is missing then.
    #[inline]
    pub fn advance(&mut self, n: usize) -> Result<(), Error> {
        if n > self.len() {
            return Err(too_short(n, self.len()));
        }
        self.raw.move_front_forward(n as u32);
        Ok(())
    }

    /// Shortens the message to `len` bytes; the rest becomes tailroom. No effect if it is shorter already.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.raw.tailroom += self.raw.len - len as u32;
            self.raw.len = len as u32;
        }
    }

    /// Grows the message by `n` bytes at the end, of arbitrary content, and returns them for writing.
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) if the tailroom is smaller.
    #[inline]
    pub fn grow(&mut self, n: usize) -> Result<&mut [u8], Error> {
        if n > self.tailroom() {
            return Err(no_room("tailroom", n, self.tailroom()));
        }
        let old = self.len();
        self.raw.tailroom -= n as u32;
        self.raw.len += n as u32;
        Ok(&mut self[old..])
    }

    /// Splits off the first `n` bytes as a message of their own, without a copy. Both share the storage, which is
    /// released when the last of them is dropped; neither can reach the other's bytes, so there is no room between
    /// them.
    ///
    /// # Errors
    /// [`Malformed`](ErrorKind::Malformed) if the message is shorter.
    pub fn split_to(&mut self, n: usize) -> Result<Self, Error> {
        if n > self.len() {
            return Err(too_short(n, self.len()));
        }
        Ok(Self { raw: self.raw.split_to(n as u32) })
    }
}

#[cold]
fn no_such_buffer(len: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("no buffer holds {len} bytes, at most 1 GiB"))
}

#[cold]
fn no_room(which: &str, wanted: usize, there: usize) -> Error {
    Error::new(ErrorKind::Exhausted, format!("{wanted} bytes of {which} wanted, {there} left"))
}

#[cold]
fn too_short(wanted: usize, there: usize) -> Error {
    Error::new(
        ErrorKind::Malformed,
        format!("a message of {there} bytes where at least {wanted} were expected"),
    )
}

/// Appends to the message as far as the tailroom goes.
impl Write for Buf {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = bytes.len().min(self.tailroom());
        self.grow(n).map_err(std::io::Error::other)?.copy_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Deref for Buf {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.raw.bytes()
    }
}

impl DerefMut for Buf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.raw.bytes_mut()
    }
}

impl AsRef<[u8]> for Buf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Buf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buf")
            .field("len", &self.len())
            .field("headroom", &self.headroom())
            .field("tailroom", &self.tailroom())
            .finish_non_exhaustive()
    }
}

impl Drop for Buf {
    #[inline]
    fn drop(&mut self) {
        self.raw.release();
    }
}

#[cfg(test)]
mod tests;
