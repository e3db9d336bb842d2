//! Messages that another Chunnel has in parts, and that become records without a buffer for the whole.

use super::LARGEST;
use super::machine::Machine;
use std::io::{self, IoSlice};

/// The bytes of small parts that become records together; the last message goes beyond.
const GROUP_BYTES: usize = 128 << 10;

/// The memory that a connection keeps for the next group.
const KEPT: usize = 16 << 10;

/// A body from this length on is encrypted where it lies. A shorter one is copied, since one piece becomes fewer records.
const IN_PLACE: usize = 4 << 10;

/// A message in two parts.
pub(crate) trait Parts: Send {
    /// The first bytes, which are few.
    fn head(&self) -> &[u8];

    /// The others.
    fn body(&self) -> &[u8];
}

/// A group of messages that become records together.
pub(super) struct Group<M> {
    /// Those whose bodies are encrypted in place, each behind so many of the bytes that were copied.
    in_place: Vec<(usize, M)>,
    pub(super) end: End,
}

/// The reason why a group holds no more messages.
pub(super) enum End {
    /// No message is left.
    Last,
    /// The group is large enough.
    Full,
    /// A message of this length does not fit, and nothing behind it is sent.
    TooLarge(usize),
}

/// The memory for the bytes that are copied: lengths, heads and short bodies.
#[derive(Debug, Default)]
pub(super) struct Plain {
    bytes: Vec<u8>,
}

impl Plain {
    /// Takes the messages of the next group.
    pub(super) fn gather<M: Parts>(&mut self, messages: &mut impl Iterator<Item = M>) -> Group<M> {
        // What a call that was dropped or failed has left.
        self.bytes.clear();
        let (mut in_place, mut length_in_place) = (Vec::new(), 0);
        let end = loop {
            if self.bytes.len() + length_in_place >= GROUP_BYTES {
                break End::Full;
            }
            let Some(message) = messages.next() else { break End::Last };
            let (head, body) = (message.head(), message.body());
            let length = head.len() + body.len();
            if length > LARGEST {
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
    /// Those of [`Machine::write`].
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
