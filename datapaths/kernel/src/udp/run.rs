//! Messages of equal length that lie behind each other.

use bertha_core::{Buf, Error};

/// Longest message that joins a run: the payload of UDP over IPv6 in an Ethernet frame. Segments can't be
/// fragmented, so on a path with a smaller MTU segmentation fails, and is given up for the connection.
pub(super) const SEGMENT: usize = 1500 - 40 - 8;

/// Largest number of messages in a run, and in a segmented datagram: the limit of Linux since 6.10; earlier
/// kernels take half as many.
pub(super) const SEGMENTS: usize = 128;

/// Largest number of bytes in a datagram.
const CONTENTS: usize = 65_535 - 20 - 8;

/// Messages of equal length. The first message stays in its place. Further messages are allocated behind it
/// if possible, and copied there otherwise, which costs a fraction of a separate way through the network
/// stack.
#[derive(Debug)]
pub(super) struct Run {
    contents: Buf,
    /// The room behind the messages; `None` if there is only one message, or if the room is offered to the
    /// next message.
    pub(super) room: Option<Buf>,
    segment: usize,
    /// Number of further messages that fit.
    free: usize,
}

impl Run {
    pub(super) fn of(message: Buf) -> Self {
        let segment = message.len();
        let is_segment = (1..=SEGMENT).contains(&segment);
        let free = if is_segment { SEGMENTS.min(CONTENTS / segment) - 1 } else { 0 };
        Self { contents: message, room: None, segment, free }
    }

    /// Appends a message that lies directly behind a run that is not full. Returns the room behind the
    /// message.
    ///
    /// # Errors
    /// Returns the message if it lies anywhere else.
    #[inline]
    pub(super) fn join(&mut self, message: Buf) -> Result<Buf, Buf> {
        let room = self.contents.join(message)?;
        self.free -= 1;
        Ok(room)
    }

    /// Appends a message to a run that is not full. The message is copied if necessary; its buffer is then
    /// returned.
    pub(super) fn add(&mut self, message: Buf) -> Result<Option<Buf>, Error> {
        self.free -= 1;
        let outcome = self.contents.join(message);
        let outcome = match outcome {
            Err(message) if self.room.is_none() => self.contents.join(at_front(message)?),
            outcome => outcome,
        };
        let message = match outcome {
            Ok(room) => {
                self.room = Some(room);
                return Ok(None);
            }
            Err(message) => message,
        };
        match self.room.take() {
            Some(room) => self.append(room, &message)?,
            None => {
                self.gather()?;
                if let Some(room) = self.room.take() {
                    self.append(room, &message)?;
                }
            }
        }
        Ok(Some(message))
    }

    /// Moves the messages to a buffer with room behind them.
    fn gather(&mut self) -> Result<(), Error> {
        let mut room = Buf::new(CONTENTS, 0)?;
        room.truncate(0);
        let messages = std::mem::replace(&mut self.contents, room.split_to(0)?);
        self.append(room, &messages)
    }

    fn append(&mut self, mut room: Buf, bytes: &[u8]) -> Result<(), Error> {
        room.grow(bytes.len())?.copy_from_slice(bytes);
        self.room = self.contents.join(room).ok();
        Ok(())
    }

    /// Reuses the tailroom of a message that was placed here but sent in another run. Returns true if the run
    /// has tailroom again.
    pub(super) fn reclaim(&mut self, mut message: Buf) -> Result<bool, Error> {
        if self.room.is_some() {
            return Ok(true);
        }
        message.prepend(message.headroom())?;
        message.truncate(0);
        self.room = self.contents.join(message).ok();
        Ok(self.room.is_some())
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.free == 0
    }

    /// Returns the number of further messages that fit.
    pub(super) fn free(&self) -> usize {
        self.free
    }

    /// Returns the length of each message.
    #[inline]
    pub(super) fn segment(&self) -> usize {
        self.segment
    }

    /// Returns the messages, one behind the other.
    pub(super) fn contents(&self) -> &[u8] {
        &self.contents
    }

    /// Returns the first messages, at most `count`.
    pub(super) fn first(&self, count: usize) -> &[u8] {
        &self.contents[..self.contents.len().min(count * self.segment)]
    }

    /// Returns the number of messages, which is at least one.
    pub(super) fn count(&self) -> usize {
        self.contents.len().checked_div(self.segment).unwrap_or(1)
    }

    /// Removes the first `count` messages, which were sent. The run holds more than `count`.
    pub(super) fn have_left(&mut self, count: usize) {
        // The call can't fail: the run holds more messages.
        let _ = self.contents.advance(count * self.segment);
    }
}

/// Moves a message to the front of its own headroom: layers above may have used less of it than they had
/// reserved.
fn at_front(mut message: Buf) -> Result<Buf, Error> {
    let (gap, len) = (message.headroom(), message.len());
    message.prepend(gap)?;
    message.copy_within(gap.., 0);
    message.truncate(len);
    Ok(message)
}
