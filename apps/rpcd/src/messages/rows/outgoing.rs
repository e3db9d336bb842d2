//! Frames that leave large rows where their sender has them.

use bertha_core::buf::SharedBytes;
use bertha_managed::heap::Foreign;
use bertha_schemas::{Frame, PrivateMemory, Room};
use std::fmt::Debug;
use std::sync::Arc;

/// Number of bytes of the shortest row that is left. A shorter one is copied in the time that a system call takes, and a burst of messages
/// without rows goes in one call.
const LONG: usize = 8 << 10;

/// Maximum number of rows that a frame leaves, since the system takes 1,024 parts at once. Further ones are copied.
const MOST: usize = 1023;

/// A message for another daemon: a frame, which begins with room for its descriptor, and behind it the rows that are left in the heap of the
/// application which sends.
#[derive(Debug)]
pub(crate) struct Outgoing {
    pub(crate) frame: PrivateMemory,
    rows: Vec<Row>,
    /// Number of bytes of the rows.
    bytes: usize,
    /// True if rows may be left.
    leaves: bool,
    held: Option<Held>,
}

/// A row in the heap of an application.
#[derive(Debug)]
struct Row {
    /// The address of the reference that leads to it, in the frame.
    reference: u64,
    /// The address at the application.
    from: u64,
    bytes: SharedBytes,
}

/// A message in the heap of an application, which hears with the drop of this that nobody reads the message any more.
#[derive(Debug)]
pub(crate) struct Held {
    sender: Arc<dyn Sender>,
    number: u32,
}

/// The application whose messages may be left where they are.
pub(crate) trait Sender: Debug + Send + Sync {
    /// Copies bytes of a message, and returns false for those that are not there.
    fn read(&self, number: u32, at: u64, into: &mut [u8]) -> bool;

    /// Notes that nobody reads a message any more.
    fn done(&self, number: u32);
}

impl Outgoing {
    /// Makes an empty message in empty memory.
    pub(crate) fn new(frame: PrivateMemory, leaves: bool) -> Self {
        Self { frame, rows: Vec::new(), bytes: 0, leaves, held: None }
    }

    /// Returns the number of bytes of the frame and of the rows.
    pub(crate) fn bytes(&self) -> usize {
        self.frame.used() + self.bytes
    }

    pub(crate) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Leaves a row of so many bytes in a heap, to which the reference at an address of the frame leads. Returns false if it has to be copied.
    #[inline]
    pub(crate) fn leave(&mut self, heap: &Foreign, reference: u64, from: u64, bytes: usize) -> bool {
        bytes >= LONG && self.leaves && self.rows.len() < MOST && self.add(heap, reference, from, bytes)
    }

    fn add(&mut self, heap: &Foreign, reference: u64, from: u64, len: usize) -> bool {
        // What is not there is found out when it is copied.
        let Ok(bytes) = heap.share(from, len) else { return false };
        self.bytes += len;
        self.rows.push(Row { reference, from, bytes });
        true
    }

    /// Makes the references lead to where the rows come to lie: behind the frame, one behind the other.
    pub(crate) fn place_rows(&mut self) {
        let mut at = Frame::MESSAGE + self.frame.used() as u64;
        for row in &self.rows {
            self.frame.bytes(row.reference, 8).copy_from_slice(&at.to_le_bytes());
            at += row.bytes.len() as u64;
        }
    }

    /// Keeps the message of the sender until this one is dropped, or has been sent.
    pub(crate) fn hold(&mut self, sender: Arc<dyn Sender>, number: u32) {
        self.held = Some(Held { sender, number });
    }

    /// Takes the parts of a message with rows: the frame, the rows behind it, and what keeps them.
    pub(crate) fn into_parts(self) -> (PrivateMemory, Vec<SharedBytes>, Option<Held>) {
        (self.frame, self.rows.into_iter().map(|row| row.bytes).collect(), self.held)
    }

    /// Copies the rows behind the frame, where they are needed. Returns `None` if there is no room for them.
    pub(crate) fn whole(mut self) -> Option<PrivateMemory> {
        if self.rows.is_empty() {
            return Some(self.frame);
        }
        let mut at = self.frame.reserve(self.bytes).ok()?;
        let Held { sender, number } = self.held.as_ref()?;
        for Row { from, bytes, .. } in &self.rows {
            if !sender.read(*number, *from, self.frame.bytes(at, bytes.len())) {
                return None;
            }
            at += bytes.len() as u64;
        }
        Some(self.frame)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // This takes the lock of what an application has to hear, also below that of what another daemon has to hear, and never the other way
        // round: what an application has to hear holds no rows.
        self.sender.done(self.number);
    }
}
