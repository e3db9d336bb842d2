//! The length in front of a message: how it is written and read, and the memory that it may cost.

use super::foreign;
use crate::Buf;
use std::fmt;

/// The length of the header in front of each message, in bytes.
pub const HEADER: usize = 4;

/// Memory that a partial message may cost although few of its bytes have arrived, in bytes: a pooled buffer.
pub(super) const FIRST: usize = 65_536;

/// The length that a header announces is larger than the largest message, or there is no memory for it. The
/// length is in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge(pub usize);

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the peer announced a message of {} bytes, which is more than fit", self.0)
    }
}

impl TooLarge {
    /// Returns the text of an error for a peer that has announced this length, where messages of at most `largest`
    /// bytes fit. A peer that speaks another protocol, such as HTTP, is called by the name of that protocol.
    pub fn told(self, largest: usize) -> String {
        let Self(length) = self;
        let header = u32::try_from(length).map(u32::to_be_bytes);
        match header.ok().and_then(|header| Some((header, foreign::protocol(header)?))) {
            Some((header, protocol)) => format!(
                "the peer speaks {protocol}: its stream has \"{}\" where the length of a message belongs",
                header.escape_ascii()
            ),
            None => format!("the peer announced a message of {length} bytes, at most {largest} fit"),
        }
    }
}

impl std::error::Error for TooLarge {}

/// Returns the header of `message`, whose length the caller has checked against the maximum.
pub fn header(message: &Buf) -> [u8; HEADER] {
    (message.len() as u32).to_be_bytes()
}

/// Returns the length of the message that begins with `bytes`, or `None` while its header is incomplete.
///
/// # Errors
/// [`TooLarge`] if the length is beyond `largest`.
pub(super) fn announced(bytes: &[u8], largest: usize) -> Result<Option<usize>, TooLarge> {
    match bytes.first_chunk::<HEADER>() {
        None => Ok(None),
        Some(header) => checked(*header, largest).map(Some),
    }
}

/// Returns the length in `header`.
///
/// # Errors
/// [`TooLarge`] if the length is beyond `largest`.
pub(super) fn checked(header: [u8; HEADER], largest: usize) -> Result<usize, TooLarge> {
    let length = u32::from_be_bytes(header) as usize;
    if length <= largest { Ok(length) } else { Err(TooLarge(length)) }
}

/// Splits the first message off `bytes`, without a copy. Returns `None` if `bytes` hold no whole message.
///
/// # Errors
/// [`TooLarge`] if the message is longer than `largest`. `bytes` are unchanged then.
pub(super) fn split_off(bytes: &mut Buf, largest: usize) -> Result<Option<Buf>, TooLarge> {
    let Some(length) = announced(bytes, largest)? else { return Ok(None) };
    if bytes.len() - HEADER < length {
        return Ok(None);
    }
    let mut message = bytes.split_to(HEADER + length).map_err(|_| TooLarge(length))?;
    message.advance(HEADER).map_err(|_| TooLarge(length))?;
    Ok(Some(message))
}

/// Returns the memory for a message of `whole` bytes of which `arrived` are there. Before each doubling the
/// peer has to send as many bytes as before, so an announcement alone reserves no memory.
pub(super) fn memory(whole: usize, arrived: usize) -> usize {
    whole.min((2 * arrived).max(FIRST))
}
