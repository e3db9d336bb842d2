//! The messages that a party gets, until it has them.

use crate::messages::interpreter_view::Lending;
use crate::messages::memory::common::Common;
use crate::messages::memory::numbered_frames::Numbered;
use crate::messages::rows::outgoing::{Outgoing, Sender};
use crate::messages::rows::sending::Sending;
use bertha_managed::heap::{Lent, Region};
use bertha_managed::{Descriptor, InHeap};
use bertha_schemas::{Fault, PrivateMemory, Room};
use std::sync::Arc;

/// The messages that a party gets.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each party, most of which are applications")]
pub(crate) enum Lends {
    /// An application gets them in its receive heap.
    Heap(Lent),
    /// Messages for another daemon wait as frames.
    Frames(Waiting),
}

/// Frames for another daemon. Each begins with room for its descriptor.
#[derive(Debug)]
pub(crate) struct Waiting {
    frames: Numbered<Outgoing>,
    /// Number of bytes of the longest frame.
    longest: usize,
    /// Memory that is used again.
    spare: Vec<PrivateMemory>,
    /// The connection takes messages whose rows were left in the heaps of applications.
    takes_rows: bool,
    sending: Sending,
    /// A frame had rows.
    had_rows: bool,
}

/// Number of frames whose memory is kept.
const SPARE: usize = 64;

/// Number of bytes of the longest frame whose memory is kept.
const SHORT: usize = 16 << 10;

impl Lends {
    /// Writes a message of about so many bytes. The message has the place that `write` returns.
    pub(crate) fn lend(
        &mut self,
        hint: u32,
        write: impl FnOnce(&mut Lending<'_, '_>) -> Result<u64, Fault>,
    ) -> Result<InHeap, Fault> {
        match self {
            Self::Heap(lent) => {
                let mut message = lent.begin(hint as usize).ok_or(Fault::NoRoom)?;
                let at = write(&mut Lending::Heap(&mut message))?;
                let bytes = u32::try_from(message.room()).unwrap_or(u32::MAX);
                Ok(InHeap { at, bytes, number: message.finish() })
            }
            Self::Frames(waiting) => {
                let mut frame = waiting.empty();
                frame.reserve(Descriptor::SIZE)?;
                let mut message = Outgoing::new(frame, waiting.leaves_rows());
                let at = write(&mut Lending::Frame(&mut message))?;
                Ok(InHeap { at, bytes: hint, number: waiting.add(message)? })
            }
        }
    }

    /// Keeps the message of a sender, as long as the message of this number needs it that was made of it. Returns false if it needs nothing.
    pub(crate) fn hold<S: Sender + 'static>(&mut self, number: u32, sender: &Arc<S>, of_sender: u32) -> bool {
        match self {
            Self::Frames(waiting) if waiting.had_rows => match waiting.frames.get_mut(number) {
                Some(message) if message.has_rows() => {
                    message.hold(Arc::clone(sender) as _, of_sender);
                    true
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Drops a message that its receiver has read, or does not get. A number without a message changes nothing.
    pub(crate) fn take_back(&mut self, number: u32) {
        match self {
            Self::Heap(lent) => {
                lent.free(number);
            }
            Self::Frames(waiting) => drop(waiting.take(number)),
        }
    }

    /// Takes the regions of a receive heap that its application does not know, with the number of bytes of all of them.
    pub(crate) fn take_new_regions(&mut self) -> (Vec<Region>, usize) {
        match self {
            Self::Heap(lent) => (lent.take_new_regions(), lent.granted()),
            Self::Frames(_) => (Vec::new(), 0),
        }
    }
}

impl Waiting {
    /// Creates an empty set of frames of up to so many bytes each, in the room that all parties have in common.
    pub(crate) fn new(longest: usize, common: Common) -> Self {
        let frames = Numbered::new(common);
        Self {
            frames,
            longest,
            spare: Vec::new(),
            takes_rows: false,
            sending: Sending::default(),
            had_rows: false,
        }
    }

    /// Notes that the connection takes messages whose rows were left where they are, or that it does not.
    pub(crate) fn takes_rows(&mut self, takes_rows: bool) {
        self.takes_rows = takes_rows;
    }

    /// Changes the way of rows.
    pub(crate) fn send_by(&mut self, sending: Sending) {
        self.sending = sending;
    }

    /// Returns the way of rows.
    pub(crate) fn sending(&self) -> Sending {
        self.sending
    }

    fn leaves_rows(&self) -> bool {
        self.takes_rows && self.sending != Sending::Copy
    }

    /// Takes a message out. A number without a message has none.
    pub(crate) fn take(&mut self, number: u32) -> Option<Outgoing> {
        self.frames.take(number)
    }

    /// Keeps the memory of a frame that has been sent.
    pub(crate) fn keep(&mut self, mut frame: PrivateMemory) {
        if self.spare.len() < SPARE && Self::is_short(&frame) {
            frame.clear();
            self.spare.push(frame);
        }
    }

    /// Returns true for a frame whose memory may be kept.
    pub(crate) fn is_short(frame: &PrivateMemory) -> bool {
        frame.used() <= SHORT
    }

    fn empty(&mut self) -> PrivateMemory {
        self.spare.pop().unwrap_or_else(|| PrivateMemory::of(self.longest))
    }

    fn add(&mut self, mut message: Outgoing) -> Result<u32, Fault> {
        let bytes = message.bytes();
        if bytes > self.longest || !self.frames.has_room(bytes) {
            return Err(Fault::NoRoom);
        }
        message.place_rows();
        self.had_rows |= message.has_rows();
        Ok(self.frames.add(message, bytes))
    }
}
