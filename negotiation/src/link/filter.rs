//! Taking the headers off a burst while the datapath hands it over.

use super::Shared;
use crate::wire::HEADER;
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
}

impl<C, I: Extend<Buf>> Extend<Buf> for Filter<'_, C, I> {
    #[inline]
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        let Self { shared, into, data, others } = self;
        into.extend(messages.into_iter().filter_map(|mut message| {
            if shared.is_data(&message) && message.advance(HEADER).is_ok() {
                *data += 1;
                return Some(message);
            }
            others.push(message);
            None
        }));
    }
}
