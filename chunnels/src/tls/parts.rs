//! Messages that another Chunnel has in parts, which become records without a buffer for the whole message.

use super::machine::Machine;
use std::io::{self, IoSlice};

/// Number of bytes of small parts that become records together; the last message may exceed it.
const GROUP_BYTES: usize = 128 << 10;

/// Size of the memory that a connection keeps for the next group.
const KEPT: usize = 16 << 10;

/// Minimum length of a body that is encrypted where it lies. A shorter body is copied, since one piece
/// becomes fewer records.
const IN_PLACE: usize = 4 << 10;

/// A message in two parts.
pub(crate) trait Parts: Send {
    /// Returns the first bytes, which are few.
    fn head(&self) -> &[u8];

    /// Returns the remaining bytes.
    fn body(&self) -> &[u8];
}

/// A group of messages that become records together.
pub(super) struct Group<M> {
    /// The messages whose bodies are encrypted in place, each behind this number of copied bytes.
    in_place: Vec<(usize, M)>,
    pub(super) end: End,
}

/// The reason why a group holds no more messages.
pub(super) enum End {
    /// No message is left.
    Last,
    /// The group is large enough.
    Full,
    /// A message of this length does not fit, and no message behind it is sent.
    TooLarge(usize),
}

/// The memory for copied bytes: lengths, heads and short bodies.
#[derive(Debug, Default)]
pub(super) struct Plain {
    bytes: Vec<u8>,
}

impl Plain {
    /// Takes the messages of the next group, which have up to `largest` bytes each.
    pub(super) fn gather<M: Parts>(
        &mut self,
        messages: &mut impl Iterator<Item = M>,
        largest: usize,
    ) -> Group<M> {
        // The bytes are left from a call that was dropped or failed.
        self.bytes.clear();
        let mut in_place = Vec::new();
        let mut length_in_place = 0;
        let end = loop {
            if self.bytes.len() + length_in_place >= GROUP_BYTES {
                break End::Full;
            }
            let Some(message) = messages.next() else { break End::Last };
            let head = message.head();
            let body = message.body();
            let length = head.len() + body.len();
            if length > largest {
                break End::TooLarge(length);
            }
            let prefix = (length as u32).to_be_bytes();
            self.bytes.extend_from_slice(&prefix);
            self.bytes.extend_from_slice(head);
            if body.len() < IN_PLACE {
                self.bytes.extend_from_slice(body);
            } else {
                length_in_place += body.len();
                in_place.push((self.bytes.len(), message));
            }
        };
        Group { in_place, end }
    }

    /// Encrypts the group.
    ///
    /// # Errors
    /// The errors of [`Machine::write`].
    pub(super) fn encrypt<M: Parts>(&mut self, group: &Group<M>, machine: &mut Machine) -> io::Result<()> {
        let mut from = 0;
        for (to, message) in &group.in_place {
            machine.write(&[IoSlice::new(&self.bytes[from..*to]), IoSlice::new(message.body())])?;
            from = *to;
        }
        if from < self.bytes.len() {
            machine.write(&[IoSlice::new(&self.bytes[from..])])?;
        }
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        Ok(())
    }
}
