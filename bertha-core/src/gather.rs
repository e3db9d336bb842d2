//! Messages whose bytes lie in several places.

use crate::buf::SharedBytes;
use crate::{Buf, Connection, Error};
use std::any::Any;
use std::fmt;

/// A connection that sends a message whose bytes lie in several places, without bringing them together.
///
/// It is for connections whose bytes go to the system as they are: a Chunnel that looks at the bytes of messages has to have them in
/// memory of its own, and so this is no method of [`Connection`]. A peer gets an ordinary message.
pub trait Gather: Connection<Data = Buf> {
    /// Sends one message. The future is ready once the datapath has taken all of it; then, or when it will not be sent any more, the message
    /// is dropped, and what it [holds](Gathered::holding) with it. If the future is dropped before, the message was not sent, or
    /// the connection keeps it until the datapath has taken it.
    ///
    /// # Errors
    /// The errors of [`send`](Connection::send).
    fn send_gathered(&self, message: Gathered) -> impl Future<Output = Result<(), Error>> + Send;
}

/// A message: the bytes of a buffer, and behind them bytes that [other processes may change](SharedBytes).
pub struct Gathered {
    bytes: Buf,
    shared: Vec<SharedBytes>,
    /// Number of shared parts that are left out.
    past: usize,
    at_once: usize,
    _held: Option<Box<dyn Any + Send>>,
}

impl Gathered {
    /// Makes a message of a buffer and parts behind it.
    pub fn new(bytes: Buf, shared: Vec<SharedBytes>) -> Self {
        Self { bytes, shared, past: 0, at_once: usize::MAX, _held: None }
    }

    /// Gives the message a value that is dropped with it.
    #[must_use]
    pub fn holding(self, held: impl Any + Send) -> Self {
        Self { _held: Some(Box::new(held)), ..self }
    }

    /// Lets a system call take so many parts at most, one at least. By default it takes as many as the system lets it.
    #[must_use]
    pub fn at_once(self, parts: usize) -> Self {
        Self { at_once: parts.max(1), ..self }
    }

    /// Returns the number of bytes that are left.
    pub fn len(&self) -> usize {
        self.bytes.len() + self.shared().iter().map(SharedBytes::len).sum::<usize>()
    }

    /// Returns true if no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.shared().is_empty()
    }

    /// Returns the bytes of the buffer that are left, which are the first.
    pub fn bytes(&self) -> &Buf {
        &self.bytes
    }

    /// Returns the parts behind them, and the number of parts that a system call may take.
    pub fn parts(&self) -> (&[SharedBytes], usize) {
        (self.shared(), self.at_once)
    }

    /// Puts another buffer in the place of the first bytes, which `change` makes of it.
    ///
    /// # Errors
    /// The errors of `change`.
    pub fn with_bytes(self, change: impl FnOnce(Buf) -> Result<Buf, Error>) -> Result<Self, Error> {
        Ok(Self { bytes: change(self.bytes)?, ..self })
    }

    /// Leaves the first bytes out, at most as many as there are.
    pub fn advance(&mut self, bytes: usize) {
        let first = bytes.min(self.bytes.len());
        // There are as many.
        let _ = self.bytes.advance(first);
        let mut left = bytes - first;
        while let Some(part) = self.shared.get_mut(self.past)
            && part.len() <= left
        {
            left -= part.len();
            self.past += 1;
        }
        if let Some(part) = self.shared.get_mut(self.past) {
            part.advance(left);
        }
    }

    fn shared(&self) -> &[SharedBytes] {
        &self.shared[self.past..]
    }
}

impl From<Buf> for Gathered {
    fn from(bytes: Buf) -> Self {
        Self::new(bytes, Vec::new())
    }
}

impl fmt::Debug for Gathered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gathered")
            .field("bytes", &self.bytes)
            .field("shared", &self.shared())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn shared(bytes: &Arc<Vec<u8>>) -> SharedBytes {
        // SAFETY: the vector stays as it is until the last clone is dropped.
        unsafe { SharedBytes::new(bytes.as_ptr(), bytes.len(), bytes.clone()) }
    }

    #[test]
    fn bytes_that_are_past_are_left_out_and_what_is_held_goes_last() {
        let parts = [3, 0, 5].map(|len| Arc::new(vec![7; len]));
        let held = Arc::new(());
        let message = Gathered::new(Buf::copy_of(b"ab", 4).unwrap(), parts.iter().map(shared).collect());
        let mut message = message.holding(held.clone());
        for past in 0..10 {
            assert_eq!((message.len(), message.is_empty()), (10 - past, false));
            message.advance(1);
        }
        assert!(message.is_empty() && Arc::strong_count(&held) == 2);
        message.advance(1);
        assert_eq!((message.len(), message.parts().0.len()), (0, 0));
        drop(message);
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_step_may_go_over_several_parts() {
        let parts = [3, 5].map(|len| Arc::new(vec![7; len]));
        let mut message = Gathered::new(Buf::copy_of(b"ab", 0).unwrap(), parts.iter().map(shared).collect());
        message.advance(7);
        let (left, _) = message.parts();
        assert_eq!(left.iter().map(SharedBytes::len).collect::<Vec<_>>(), [3]);
        assert_eq!(left[0].start(), parts[1].as_ptr().wrapping_add(2));
    }
}
