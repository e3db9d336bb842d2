//! What is sent instead of a message: no state, no time.
//!
//! A stored message has one byte in front, 0. A compressed one has a byte 1, its length before it was compressed (4 bytes,
//! little-endian), and an LZ4 block.

use bertha_core::{Buf, Error};
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// In front of a stored message.
const STORED: u8 = 0;

/// In front of a compressed one.
const COMPRESSED: u8 = 1;

/// What stands in front of a compressed message.
const HEADER: usize = 5;

/// What stands in front of a stored one.
pub(super) const STORED_HEADER: usize = 1;

/// How many times its size a block holds at most: a byte makes a match longer by no more than that.
const MOST_RATIO: usize = 255;

/// Which messages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Shorter ones are stored, in bytes.
    pub least: usize,
    /// Longer ones are stored, in bytes, and a compressed one must not become longer.
    pub limit: u32,
}

/// Why a message was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It claims to become larger than the limit, or than its size can hold.
    Bomb,
    /// It does not follow the format, or is not what it claims to be.
    Malformed,
    /// There is no memory for it.
    Starved,
}

/// What is sent for `message`; `headroom` is what the layers below put in front of it.
///
/// # Errors
/// [`Exhausted`](bertha_core::ErrorKind::Exhausted) if there is no memory.
pub fn pack(message: Buf, bounds: Bounds, headroom: usize) -> Result<Buf, Error> {
    let is_tried = message.len() >= bounds.least.max(1) && message.len() <= bounds.limit as usize;
    if is_tried && let Some(packed) = compress(&message, headroom)? {
        return Ok(packed);
    }
    store(message, headroom)
}

fn store(mut message: Buf, headroom: usize) -> Result<Buf, Error> {
    if message.headroom() < STORED_HEADER {
        // Made elsewhere than by this connection's base.
        message = Buf::copy_of(&message, STORED_HEADER + headroom)?;
    }
    message.prepend(STORED_HEADER)?[0] = STORED;
    Ok(message)
}

/// The compressed message, if it is smaller than the stored one.
fn compress(message: &[u8], headroom: usize) -> Result<Option<Buf>, Error> {
    // A buffer of the pool: the encoder wants room for the worst, which the datapath's buffers may not have.
    let mut packed = Buf::new(HEADER + get_maximum_output_size(message.len()), headroom)?;
    let Some((header, block)) = packed.split_first_chunk_mut::<HEADER>() else { return Ok(None) };
    let Ok(len) = compress_into(message, block) else { return Ok(None) };
    if HEADER + len > message.len() {
        return Ok(None);
    }
    header[0] = COMPRESSED;
    header[1..].copy_from_slice(&(message.len() as u32).to_le_bytes());
    packed.truncate(HEADER + len);
    Ok(Some(packed))
}

/// The message that was packed.
///
/// # Errors
/// Why it is to be dropped.
pub fn unpack(mut packed: Buf, bounds: Bounds) -> Result<Buf, Refused> {
    match packed.first() {
        Some(&STORED) => {
            packed.advance(STORED_HEADER).map_err(|_| Refused::Malformed)?;
            Ok(packed)
        }
        Some(&COMPRESSED) => decompress(&packed, bounds),
        _ => Err(Refused::Malformed),
    }
}

fn decompress(packed: &[u8], bounds: Bounds) -> Result<Buf, Refused> {
    let Some((&[_, a, b, c, d], block)) = packed.split_first_chunk::<HEADER>() else {
        return Err(Refused::Malformed);
    };
    let len = u32::from_le_bytes([a, b, c, d]);
    if len > bounds.limit || len as usize > block.len().saturating_mul(MOST_RATIO) {
        return Err(Refused::Bomb);
    }
    let mut message = Buf::new(len as usize, 0).map_err(|_| Refused::Starved)?;
    match decompress_into(block, &mut message) {
        Ok(written) if written == len as usize => Ok(message),
        _ => Err(Refused::Malformed),
    }
}
