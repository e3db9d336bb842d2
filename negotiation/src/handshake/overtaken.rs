//! Data that overtakes the client's confirmation.

use crate::wire::HEADER;
use bertha_core::Buf;
use std::collections::VecDeque;

/// Maximum number of bytes that are kept for a client.
const MOST_BYTES: usize = 16 << 10;

/// The messages of a client that has yet to confirm. They are copied, so that a short message does not hold a
/// whole buffer of the datapath.
#[derive(Debug, Default)]
pub(crate) struct Overtaken {
    messages: VecDeque<Buf>,
    bytes: usize,
}

impl Overtaken {
    /// Keeps the data of a message. Returns false if `most` messages are kept already, or the messages would
    /// be too long together.
    pub(crate) fn keep(&mut self, message: &[u8], most: usize) -> bool {
        let Some(data) = message.get(HEADER..) else { return false };
        if self.messages.len() >= most || self.bytes + data.len() > MOST_BYTES {
            return false;
        }
        let Ok(copy) = Buf::copy_of(data, 0) else { return false };
        self.bytes += data.len();
        self.messages.push_back(copy);
        true
    }

    /// Returns the messages in the order of their arrival.
    pub(crate) fn into_messages(self) -> VecDeque<Buf> {
        self.messages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_has_so_many_messages_and_bytes() {
        let mut overtaken = Overtaken::default();
        assert_eq!((0..5).filter(|_| overtaken.keep(&[1; HEADER + 3], 3)).count(), 3);
        assert!(overtaken.into_messages().iter().all(|message| **message == [1; 3]));
        let mut overtaken = Overtaken::default();
        assert_eq!((0..100).filter(|_| overtaken.keep(&[1; HEADER + 1024], 64)).count(), 16);
        assert!(!overtaken.keep(&[1], 64));
    }
}
