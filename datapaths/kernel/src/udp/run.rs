//! Messages of one length behind each other.

use bertha_core::{Buf, Error};

/// The longest message that goes into a run with others: the payload of UDP over IPv6 in an Ethernet frame. Segments
/// can't be fragmented, so on a path with a smaller MTU segmentation fails, and is given up for the connection.
pub(super) const SEGMENT: usize = 1500 - 40 - 8;

/// The most messages of a run, and the most that a kernel takes as one datagram: since Linux 6.10, and half as many before.
pub(super) const SEGMENTS: usize = 128;

/// The most bytes of one datagram.
const CONTENTS: usize = 65_535 - 20 - 8;

/// Messages of one length. The first stays where it was made. The others are made behind it where they can be, and else
/// are copied there, which costs a fraction of a way of their own through the network stack.
#[derive(Debug)]
pub(super) struct Run {
    contents: Buf,
    /// The room behind them; `None` if there is only one message, or if the room is offered to the next.
    pub(super) room: Option<Buf>,
    segment: usize,
    /// How many more messages there may be.
    free: usize,
}

impl Run {
    pub(super) fn of(message: Buf) -> Self {
        let segment = message.len();
        let is_segment = (1..=SEGMENT).contains(&segment);
        let free = if is_segment { SEGMENTS.min(CONTENTS / segment) - 1 } else { 0 };
        Self { contents: message, room: None, segment, free }
    }

    /// Adds a message that lies directly behind the others, which are less than they may be. Returns the room behind it.
    ///
    /// # Errors
    /// The message, if it lies anywhere else.
    #[inline]
    pub(super) fn join(&mut self, message: Buf) -> Result<Buf, Buf> {
        let room = self.contents.join(message)?;
        self.free -= 1;
        Ok(room)
    }

    /// Adds a message to others that are less than they may be. It is copied if need be; then its buffer is returned.
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

    /// Moves its messages to where there is room behind them.
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

    /// Takes the buffer of a message back that was made behind the others and belonged elsewhere. Whether it was.
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

    /// How many more messages there may be.
    pub(super) fn free(&self) -> usize {
        self.free
    }

    /// The length of its messages.
    #[inline]
    pub(super) fn segment(&self) -> usize {
        self.segment
    }

    /// The messages, one behind the other.
    pub(super) fn contents(&self) -> &[u8] {
        &self.contents
    }

    /// The first messages, at most `count`.
    pub(super) fn first(&self, count: usize) -> &[u8] {
        &self.contents[..self.contents.len().min(count * self.segment)]
    }

    /// How many messages there are: one at least.
    pub(super) fn count(&self) -> usize {
        self.contents.len().checked_div(self.segment).unwrap_or(1)
    }

    /// The first `count` messages, of more, have left.
    pub(super) fn have_left(&mut self, count: usize) {
        // Cannot fail: there are more.
        let _ = self.contents.advance(count * self.segment);
    }
}

/// The message at the front of its own headroom: layers above may have used less of it than they had reserved.
fn at_front(mut message: Buf) -> Result<Buf, Error> {
    let (gap, len) = (message.headroom(), message.len());
    message.prepend(gap)?;
    message.copy_within(gap.., 0);
    message.truncate(len);
    Ok(message)
}
