//! Taking the headers off a burst while the datapath hands it over.

use super::EpochQueue;
use bertha_core::Buf;

/// Passes data on without its header, and sets aside what is not data.
pub(super) struct Filter<'a, I> {
    queue: &'a EpochQueue,
    into: &'a mut I,
    /// The messages that were not passed on. Empty, and so not allocated, unless the peer sends something about the
    /// connection or changes its stack.
    pub(super) others: Vec<Buf>,
}

impl<'a, I> Filter<'a, I> {
    pub(super) fn new(queue: &'a EpochQueue, into: &'a mut I) -> Self {
        Self { queue, into, others: Vec::new() }
    }
}

#[cold]
fn set_aside(others: &mut Vec<Buf>, message: Buf) {
    others.push(message);
}

impl<I: Extend<Buf>> Extend<Buf> for Filter<'_, I> {
    #[inline]
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        // As one iterator: all that happens to a message becomes one loop, whose state stays in registers.
        let Self { queue, into, others } = self;
        into.extend(messages.into_iter().filter_map(|mut message| {
            if queue.strip(&mut message) {
                return Some(message);
            }
            set_aside(others, message);
            None
        }));
    }
}
