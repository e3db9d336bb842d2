//! The one buffer type of all datapaths.
//!
//! `unsafe` is confined to this folder; see the SAFETY comments.

mod block;
mod fate;
mod free_list;
mod owned;
mod pool;
mod receipt;
mod recycled_bufs;
mod segments;
mod shared_bytes;
mod storage;
mod view;
mod window;

use crate::{Error, ErrorKind};
pub use fate::Fate;
pub use receipt::WithReceipt;
pub use recycled_bufs::RecycledBufs;
pub use segments::Segments;
pub use shared_bytes::SharedBytes;
use std::fmt;
use std::io::Write;
use std::ops::{Deref, DerefMut};
pub use storage::{RawBuf, Storage, Vtable};
use view::View;
use window::{MAX_HEADROOM, MAX_STORAGE};

/// A message in bytes, with room in front of it for the headers of lower layers.
///
/// ```text
///   headroom      len        tailroom
/// |----------|-------------|----------|
///            ^ the bytes it dereferences to
/// ```
///
/// A Chunnel that adds a header calls [`prepend`](Self::prepend) and copies nothing; a Chunnel that removes a header calls
/// [`advance`](Self::advance). The storage belongs to a pool in this process or is a datapath's own memory, and goes back
/// there on drop. Get one for sending from [`Base::buffer`](crate::Base::buffer), so that
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
    view: View,
}

impl Buf {
    /// Returns a pooled buffer of `len` arbitrary bytes with at least `headroom` bytes in front.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) if both together take 128 MiB or more, or the headroom 512 bytes or more.
    #[inline]
    pub fn new(len: usize, headroom: usize) -> Result<Self, Error> {
        match len.checked_add(headroom) {
            Some(capacity) if capacity <= MAX_STORAGE && headroom <= MAX_HEADROOM => {
                Ok(Self { view: View::pooled(len, headroom) })
            }
            _ => Err(no_such_buffer(len, headroom)),
        }
    }

    /// Returns a buffer without bytes and without room for any.
    pub(crate) fn empty() -> Self {
        Self { view: View::pooled(0, 0) }
    }

    /// Returns a pooled buffer that holds a copy of `bytes`, with `headroom` bytes in front.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new).
    #[inline]
    pub fn copy_of(bytes: &[u8], headroom: usize) -> Result<Self, Error> {
        let mut buf = Self::new(bytes.len(), headroom)?;
        buf.copy_from_slice(bytes);
        Ok(buf)
    }

    /// Returns a buffer over the bytes of `owner`, without a copy and without headroom. The owner is dropped
    /// with the last buffer into them, so its destructor learns when nobody needs the message any more.
    ///
    /// ```
    /// # use bertha_core::Buf;
    /// let message = Buf::from_owner(b"hello".to_vec()).unwrap();
    /// assert_eq!(&*message, b"hello");
    /// ```
    ///
    /// # Errors
    /// The owner, if it has 128 MiB or more.
    pub fn from_owner<T: AsMut<[u8]> + Send + 'static>(owner: T) -> Result<Self, T> {
        Ok(Self::over(owned::take(owner)?))
    }

    /// Returns the buffer over all bytes of an owner.
    fn over(owned: owned::Taken) -> Self {
        // SAFETY: the storage is written to by `take` alone; its bytes are the owner's, which lives until the last window is released and
        // is not touched before. They are valid and initialised as a slice of bytes is. The window is counted, the only one, and
        // as long as the storage. The owner may be dropped in any thread, as it is `Send`.
        Self { view: unsafe { View::from_raw(owned.into_raw()) } }
    }

    /// Returns a copy of `bytes` in a buffer of their size, or `None` if they are more than 2 KiB.
    ///
    /// A received message lies in a large buffer. A short message that is kept would hold all of that buffer,
    /// and a thousand queued short messages would hold 64 MiB. Copying so few bytes, which are in the cache,
    /// costs less than fetching another large buffer, which is not.
    pub fn copy_of_few(bytes: &[u8]) -> Option<Self> {
        const FEW: usize = 2048;
        if bytes.len() <= FEW { Self::copy_of(bytes, 0).ok() } else { None }
    }

    /// Returns the first `len` bytes, moved to a buffer of their size if they are few; see
    /// [`copy_of_few`](Self::copy_of_few).
    #[must_use]
    pub fn fitted(mut self, len: usize) -> Self {
        self.truncate(len);
        // A message with a receipt lies in memory of its size already.
        if self.has_receipt() {
            return self;
        }
        Self::copy_of_few(&self).unwrap_or(self)
    }

    /// Returns the message in memory of this process: a message in a datapath's memory is copied, without
    /// headroom. It is for messages that are kept for long, since a datapath may have few buffers, and
    /// receives nothing once all of them are kept. The message stays where it is if no buffer of its size is
    /// left.
    #[must_use]
    pub fn kept(self) -> Self {
        if self.view.is_pooled() || self.has_receipt() {
            self
        } else {
            Self::copy_of(&self, 0).unwrap_or(self)
        }
    }

    /// Returns a buffer over memory that a datapath owns.
    ///
    /// # Safety
    /// `raw` must keep the promises listed at [`RawBuf`].
    #[inline]
    pub unsafe fn from_raw(raw: RawBuf) -> Self {
        // SAFETY: the caller's promise.
        Self { view: unsafe { View::from_raw(raw) } }
    }

    /// Gives a datapath its memory back, with the count of this window, if the memory has this `vtable`. The
    /// datapath copies any other buffer.
    ///
    /// # Errors
    /// The buffer itself, if it has another owner.
    #[inline]
    pub fn into_raw(self, vtable: &'static Vtable) -> Result<RawBuf, Self> {
        if self.view.is_of(vtable) {
            let this = std::mem::ManuallyDrop::new(self);
            Ok(this.view.raw())
        } else {
            Err(self)
        }
    }

    /// Returns the number of bytes free in front of the message: 511 at most.
    #[inline]
    pub fn headroom(&self) -> usize {
        self.view.window().headroom()
    }

    /// Returns the number of bytes free behind the message: zero if another message was split off there.
    #[inline]
    pub fn tailroom(&self) -> usize {
        self.view.tailroom()
    }

    /// Grows the message by `n` bytes at the front, of arbitrary content, and returns them for writing.
    ///
    /// [`TooLarge`](ErrorKind::TooLarge) if the headroom is smaller than `n`. The error is permanent: a
    /// Chunnel reserves headroom with [`Base::reserve`](crate::Base::reserve) in `connect_wrap`, and messages
    /// come from [`Base::buffer`](crate::Base::buffer).
    #[inline]
    pub fn prepend(&mut self, n: usize) -> Result<&mut [u8], Error> {
        let there = self.headroom();
        self.view.take_headroom(n).ok_or_else(|| no_headroom(n, there))
    }

    /// Removes `n` bytes from the front; they become headroom.
    ///
    /// # Errors
    /// [`Malformed`](ErrorKind::Malformed) if the message has fewer than `n` bytes, so that the header is
    /// missing.
    #[inline]
    pub fn advance(&mut self, n: usize) -> Result<(), Error> {
        if self.view.advance(n) { Ok(()) } else { Err(too_short(n, self.len())) }
    }

    /// Removes `prefix` from the front, as [`advance`](Self::advance) does, and returns true, if the message
    /// begins with `prefix`.
    #[inline]
    pub fn strip_prefix<const N: usize>(&mut self, prefix: &[u8; N]) -> bool {
        self.first_chunk() == Some(prefix) && self.view.advance(N)
    }

    /// Shortens the message to `len` bytes; the rest becomes tailroom, unless another message was split off
    /// behind it. A message that is shorter already stays as it is.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.view.truncate(len);
    }

    /// Grows the message by `n` bytes at the end, of arbitrary content, and returns them for writing.
    ///
    /// # Errors
    /// [`TooLarge`](ErrorKind::TooLarge) if the tailroom is smaller than `n`. The error is permanent.
    #[inline]
    pub fn grow(&mut self, n: usize) -> Result<&mut [u8], Error> {
        let there = self.tailroom();
        self.view.take_tailroom(n).ok_or_else(|| no_tailroom(n, there))
    }

    /// Splits off the first `n` bytes as a message of their own, without a copy. Both messages share the
    /// storage, which is released when the last of them is dropped. Neither message can reach the other's
    /// bytes, so there is no headroom or tailroom between them.
    ///
    /// A storage counts its messages. The process is aborted at 2^31 messages, which can only exist if
    /// messages are forgotten ([`std::mem::forget`]) instead of dropped.
    ///
    /// # Errors
    /// [`Malformed`](ErrorKind::Malformed) if the message is shorter.
    #[inline]
    pub fn split_to(&mut self, n: usize) -> Result<Self, Error> {
        match self.view.split_to(n) {
            Some(view) => Ok(Self { view }),
            None => Err(too_short(n, self.len())),
        }
    }
}

#[cold]
fn no_such_buffer(len: usize, headroom: usize) -> Error {
    let what = format!(
        "no buffer holds {len} bytes with {headroom} in front: less than 128 MiB, and 512 bytes in front"
    );
    Error::new(ErrorKind::TooLarge, what)
}

#[cold]
fn no_headroom(wanted: usize, there: usize) -> Error {
    let what = format!(
        "{there} bytes of headroom where {wanted} are needed; reserve them in connect_wrap, and take messages from the base's `buffer`"
    );
    Error::new(ErrorKind::TooLarge, what)
}

#[cold]
fn no_tailroom(wanted: usize, there: usize) -> Error {
    Error::new(ErrorKind::TooLarge, format!("{there} bytes of tailroom where {wanted} are needed"))
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
        self.view.bytes()
    }
}

impl DerefMut for Buf {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.view.bytes_mut()
    }
}

impl AsRef<[u8]> for Buf {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for Buf {
    fn as_mut(&mut self) -> &mut [u8] {
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
    // Out of line. A future that owns a buffer drops it in several of its states, and the futures of a stack lie in each
    // other: code for releasing in each place keeps the compiler from seeing that a finished future has nothing to drop.
    #[inline(never)]
    fn drop(&mut self) {
        // SAFETY: a buffer owns its window, which is counted once, and is not used after its drop.
        unsafe { self.view.release(1) };
    }
}

#[cfg(test)]
mod tests;
