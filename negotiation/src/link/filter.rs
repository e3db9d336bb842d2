//! Taking the headers off a burst while the datapath hands it over.

use super::Lane;
use bertha_core::Buf;

/// Passes data on without its header, and sets aside what is not data.
pub(super) struct Filter<'a, I> {
    lane: &'a Lane,
    into: &'a mut I,
    /// How much data was passed on.
    pub(super) data: usize,
    /// The rest. Empty, and so not allocated, unless the peer says something of the connection or changes its stack.
    pub(super) others: Vec<Buf>,
}

impl<'a, I> Filter<'a, I> {
    pub(super) fn new(lane: &'a Lane, into: &'a mut I) -> Self {
        Self { lane, into, data: 0, others: Vec::new() }
    }

    #[cold]
    fn set_aside(&mut self, message: Buf) {
        self.others.push(message);
    }
}

impl<I: Extend<Buf>> Extend<Buf> for Filter<'_, I> {
    #[inline]
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        // One by one: handing an iterator on would have its state in memory between any two messages.
        for mut message in messages {
            if message.strip_prefix(&self.lane.header) {
                self.data += 1;
                self.into.extend(Some(message));
            } else {
                self.set_aside(message);
            }
        }
    }
}
