//! Texts of failures, as heaps have strings.

use crate::memory::Lending;
use bertha_managed::is_unseen;
use bertha_schemas::{Memory, NoRoom, Room};

/// Number of bytes of the longest reason of a failure.
const REASON: usize = 1024;

/// Writes a text as a heap's string, and returns its place.
pub(crate) fn text_in(room: &mut Lending<'_, '_>, text: &[u8]) -> Result<u64, NoRoom> {
    let (at, bytes) = (room.reserve(16)?, room.put(text)?);
    let length = (text.len() as u32).to_le_bytes();
    let string = room.bytes(at, 16);
    string[..8].copy_from_slice(&bytes.to_le_bytes());
    string[8..12].copy_from_slice(&length);
    string[12..].copy_from_slice(&length);
    Ok(at)
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
