//! Taking the headers off a burst while the datapath hands it over.

use super::Lane;
use crate::wire::HEADER;
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
}

impl<I: Extend<Buf>> Extend<Buf> for Filter<'_, I> {
    #[inline]
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        let Self { lane, into, data, others } = self;
        into.extend(messages.into_iter().filter_map(|mut message| {
            if lane.carries(&message) && message.advance(HEADER).is_ok() {
                *data += 1;
                return Some(message);
            }
            others.push(message);
            None
        }));
    }
}
