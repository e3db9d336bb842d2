//! A copy of a message that has come from elsewhere.

use crate::{Memory, Outside};

/// The address of the first byte: not zero, which stands for no message.
pub(crate) const FIRST: u64 = 1 << 12;

/// The bytes of a [`PrivateMemory`](crate::PrivateMemory) in which a sender has a copy of a message. They may be any bytes.
///
/// # Example
/// ```no_run
/// use bertha_schemas::{Fault, Frame, Limits, MessageId, Plan, PrivateMemory, Room};
///
/// /// Leaves in `frame` what is sent.
/// fn send(plan: &Plan, request: MessageId, memory: &PrivateMemory, at: u64, frame: &mut PrivateMemory) -> Result<(), Fault> {
///     frame.clear();
///     plan.copy(request, memory, at, frame, Limits::default()).map(|_| ())
/// }
///
/// fn receive(plan: &Plan, request: MessageId, bytes: &[u8], room: &mut impl Room) -> Result<u64, Fault> {
///     plan.copy(request, &Frame::of(bytes), Frame::MESSAGE, room, Limits::default())
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a>(&'a [u8]);

impl<'a> Frame<'a> {
    /// The address of the structure of the message that was copied first.
    pub const MESSAGE: u64 = FIRST;

    /// Makes a frame of what has come.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn bytes(self, at: u64, len: usize) -> Option<&'a [u8]> {
        let place = usize::try_from(at.checked_sub(FIRST)?).ok()?;
        self.0.get(place..place.checked_add(len)?)
    }
}

impl Memory for Frame<'_> {
    #[inline]
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        into.copy_from_slice(self.bytes(at, into.len()).ok_or(Outside { at })?);
        Ok(())
    }
}
