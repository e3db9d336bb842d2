//! The format of stored and compressed messages, without state.
//!
//! A stored message has one byte in front, 0. A compressed message has a byte 1, its length before
//! compression (4 bytes, little-endian), and an LZ4 block.

use bertha_core::{Buf, Error};
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

/// The first byte of a stored message.
const STORED: u8 = 0;

/// The first byte of a compressed message.
const COMPRESSED: u8 = 1;

/// The bytes in front of a compressed message.
const HEADER: usize = 5;

/// The bytes in front of a stored message.
pub(super) const STORED_HEADER: usize = 1;

/// The largest compression ratio: a byte lengthens a match by at most 255.
const MAX_RATIO: usize = 255;

/// The lengths of messages that are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Messages shorter than this are stored, in bytes.
    pub min: usize,
    /// Messages longer than this are stored, in bytes; a compressed message must not decompress to more.
    pub limit: u32,
}

/// The reason why a message was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The message states a length beyond the limit or beyond the largest ratio.
    Bomb,
    /// The message does not follow the format, or does not decompress to its stated length.
    Malformed,
    /// There is no memory for the message.
    Starved,
}

/// Compresses or stores `message`, with `headroom` for the layers below.
///
/// # Errors
/// [`Exhausted`](bertha_core::ErrorKind::Exhausted) if there is no memory.
pub fn pack(message: Buf, bounds: Bounds, headroom: usize) -> Result<Buf, Error> {
    let is_tried = message.len() >= bounds.min.max(1) && message.len() <= bounds.limit as usize;
    if is_tried && let Some(packed) = compress(&message, headroom)? {
        return Ok(packed);
    }
    store(message, headroom)
}

fn store(mut message: Buf, headroom: usize) -> Result<Buf, Error> {
    if message.headroom() < STORED_HEADER {
        // The message has no headroom, since it is not from this connection's base.
        message = Buf::copy_of(&message, STORED_HEADER + headroom)?;
    }
    message.prepend(STORED_HEADER)?[0] = STORED;
    Ok(message)
}

/// Returns the compressed message, if it is smaller than the stored message.
fn compress(message: &[u8], headroom: usize) -> Result<Option<Buf>, Error> {
    // The buffer is from the pool: the encoder needs the size of the worst case, which the datapath's buffers
    // may not have.
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

/// Returns true if a packed message is compressed, and not only stored.
pub(super) fn is_compressed(packed: &[u8]) -> bool {
    packed.first() == Some(&COMPRESSED)
}

/// Decompresses a message, or unwraps a stored message.
///
/// # Errors
/// The reason why the message is dropped.
pub fn unpack(mut packed: Buf, bounds: Bounds) -> Result<Buf, Refused> {
    match packed.first() {
        Some(&STORED) => {
            packed.advance(STORED_HEADER).map_err(|_| Refused::Malformed)?;
            Ok(packed)
        }
        Some(&COMPRESSED) => Ok(decompress(&packed, bounds)?.with_receipts_of([packed])),
        _ => Err(Refused::Malformed),
    }
}

fn decompress(packed: &[u8], bounds: Bounds) -> Result<Buf, Refused> {
    let Some((&[_, a, b, c, d], block)) = packed.split_first_chunk::<HEADER>() else {
        return Err(Refused::Malformed);
    };
    let len = u32::from_le_bytes([a, b, c, d]);
    if len > bounds.limit || len as usize > block.len().saturating_mul(MAX_RATIO) {
        return Err(Refused::Bomb);
    }
    let mut message = Buf::new(len as usize, 0).map_err(|_| Refused::Starved)?;
    match decompress_into(block, &mut message) {
        Ok(written) if written == len as usize => Ok(message),
        _ => Err(Refused::Malformed),
    }
}
