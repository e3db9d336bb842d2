//! Texts of failures, as heaps have strings.

use crate::failures::details::{self, Details};
use crate::messages::interpreter_view::Lending;
use bertha_managed::is_unseen;
use bertha_schemas::{Memory, NoRoom, Room};
use std::sync::Arc;

/// Number of bytes of the longest reason of a failure.
const REASON: usize = 1024;

/// Writes a text as a heap's string, and returns its place. Details of a failure lie behind the text, within the capacity of the string: who
/// reads the text alone does not see them.
pub(crate) fn text_in(room: &mut Lending<'_, '_>, text: &[u8], details: &[u8]) -> Result<u64, NoRoom> {
    let at = room.reserve(16)?;
    let bytes = if details.is_empty() { room.put(text)? } else { room.put(&[text, details].concat())? };
    let (length, capacity) = (text.len() as u32, (text.len() + details.len()) as u32);
    let string = room.bytes(at, 16);
    string[..8].copy_from_slice(&bytes.to_le_bytes());
    string[8..12].copy_from_slice(&length.to_le_bytes());
    string[12..].copy_from_slice(&capacity.to_le_bytes());
    Ok(at)
}

/// Reads the details behind a text of another daemon. The texts of applications have memory of any content there.
pub(crate) fn details_of(memory: &impl Memory, at: u64) -> Details {
    let read = || {
        let mut string = [0; 16];
        memory.read(at, &mut string).ok()?;
        let number =
            |at: usize| u32::from_le_bytes([string[at], string[at + 1], string[at + 2], string[at + 3]]);
        let (address, length, capacity) = (string.first_chunk::<8>()?, number(8), number(12));
        let bytes = capacity.checked_sub(length).filter(|bytes| *bytes > 0)? as usize;
        let mut details = vec![0; Some(bytes).filter(|bytes| *bytes <= details::LONGEST)?];
        memory.read(u64::from_le_bytes(*address).checked_add(length.into())?, &mut details).ok()?;
        Some(Arc::from(details))
    };
    Details::OfServer(read())
}

/// Reads a heap's string of another process, as far as it has a reasonable length. Characters that do not show could forge lines of a log.
pub(crate) fn text_of(memory: &impl Memory, at: u64) -> Option<String> {
    let mut string = [0; 16];
    memory.read(at, &mut string).ok()?;
    let (address, length) = string.split_first_chunk::<8>()?;
    let length = u32::from_le_bytes(*length.first_chunk()?) as usize;
    let mut text = vec![0; length.min(REASON)];
    memory.read(u64::from_le_bytes(*address), &mut text).ok()?;
    Some(String::from_utf8_lossy(&text).replace(is_unseen, " "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::rows::outgoing::Outgoing;
    use bertha_schemas::PrivateMemory;

    fn message() -> Outgoing {
        Outgoing::new(PrivateMemory::of(1 << 20), false)
    }

    #[test]
    fn details_lie_behind_the_text() {
        let mut message = message();
        let at = text_in(&mut Lending::Frame(&mut message), b"no room", b"details").unwrap();
        assert_eq!(text_of(&message.frame, at).as_deref(), Some("no room"));
        assert_eq!(details_of(&message.frame, at), Details::OfServer(Some((*b"details").into())));
        let at = text_in(&mut Lending::Frame(&mut message), b"no room", b"").unwrap();
        assert_eq!(details_of(&message.frame, at), Details::OfServer(None));
    }

    #[test]
    fn details_that_are_not_there_or_too_long_are_none() {
        let mut message = message();
        let long = vec![0; details::LONGEST + 1];
        let at = text_in(&mut Lending::Frame(&mut message), b"no room", &long).unwrap();
        assert_eq!(details_of(&message.frame, at), Details::OfServer(None));
        for (length, capacity) in [(7_u32, 6_u32), (7, 4000), (u32::MAX, 0), (0, u32::MAX)] {
            let at = text_in(&mut Lending::Frame(&mut message), b"no room", b"details").unwrap();
            let numbers = [length.to_le_bytes(), capacity.to_le_bytes()].concat();
            message.frame.bytes(at + 8, 8).copy_from_slice(&numbers);
            assert_eq!(details_of(&message.frame, at), Details::OfServer(None), "{length}, {capacity}");
        }
        assert_eq!(details_of(&message.frame, u64::MAX), Details::OfServer(None));
    }
}
