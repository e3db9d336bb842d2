//! Taking the headers off a burst while the datapath hands it over.

use super::Shared;
use bertha_core::Buf;

/// Passes data on without its header, and sets aside what is not data.
pub(super) struct Filter<'a, C, I> {
    shared: &'a Shared<C>,
    into: &'a mut I,
    /// How much data was passed on.
    pub(super) data: usize,
    /// The rest. Empty, and so not allocated, unless the peer repeats a handshake message or closes.
    pub(super) others: Vec<Buf>,
}

impl<'a, C, I> Filter<'a, C, I> {
    pub(super) fn new(shared: &'a Shared<C>, into: &'a mut I) -> Self {
        Self { shared, into, data: 0, others: Vec::new() }
    }

    #[cold]
    fn set_aside(&mut self, message: Buf) {
        self.others.push(message);
    }
}

impl<C, I: Extend<Buf>> Extend<Buf> for Filter<'_, C, I> {
    #[inline]
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        // One by one: handing an iterator on would have its state in memory between any two messages.
        for mut message in messages {
            if message.strip_prefix(&self.shared.data) {
                self.data += 1;
                self.into.extend(Some(message));
            } else {
                self.set_aside(message);
            }
        }
    }
}
