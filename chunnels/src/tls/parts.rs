//! Messages that another Chunnel has in parts, and that become records without a buffer for the whole.

use super::frame::{LARGEST, LENGTH};
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

/// Plain text of whole messages, each behind its length.
#[derive(Debug, Default)]
pub(super) struct Plain {
    bytes: Vec<u8>,
}

/// The end of a group of messages.
pub(super) enum Group {
    /// No message is left.
    Last,
    /// There may be more.
    Full,
    /// A message of this length does not fit, and nothing behind it is sent.
    TooLarge(usize),
}

impl Plain {
    /// Encrypts a group of messages.
    ///
    /// # Errors
    /// Those of [`Machine::write`].
    pub(super) fn encrypt<M: Parts>(
        &mut self,
        messages: &mut impl Iterator<Item = M>,
        machine: &mut Machine,
    ) -> io::Result<Group> {
        // What a call that was dropped or failed has left.
        self.bytes.clear();
        let mut in_place = 0;
        let group = loop {
            if self.bytes.len() + in_place >= GROUP_BYTES {
                break Group::Full;
            }
            let Some(message) = messages.next() else { break Group::Last };
            let (head, body) = (message.head(), message.body());
            let length = head.len() + body.len();
            if length > LARGEST {
                break Group::TooLarge(length);
            }
            let prefix: [u8; LENGTH] = (length as u32).to_be_bytes();
            self.bytes.extend_from_slice(&prefix);
            self.bytes.extend_from_slice(head);
            if body.len() < IN_PLACE {
                self.bytes.extend_from_slice(body);
                continue;
            }
            machine.write(&[IoSlice::new(&self.bytes), IoSlice::new(body)])?;
            in_place += self.bytes.len() + body.len();
            self.bytes.clear();
        };
        if !self.bytes.is_empty() {
            machine.write(&[IoSlice::new(&self.bytes)])?;
        }
        if self.bytes.capacity() > KEPT {
            self.bytes = Vec::new();
        }
        Ok(group)
    }
}
