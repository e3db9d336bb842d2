//! The header of each message: its length in two bytes, or, from 32 KiB on, in four bytes with the first bit
//! set, most significant byte first.

use bertha_core::Buf;

/// Maximum length of a header.
pub(super) const MAX_HEADER: usize = 4;

/// The first bit of a length of four bytes.
const LONG: u32 = 1 << 31;

/// Returns the length of the header of a message of `len` bytes.
pub(super) fn size(len: usize) -> usize {
    if len < 0x8000 { 2 } else { MAX_HEADER }
}

/// Writes the header of a message of `len` bytes, which is shorter than 1 GiB, as every buffer is.
pub(super) fn write(header: &mut [u8], len: usize) {
    match header.len() {
        2 => header.copy_from_slice(&(len as u16).to_be_bytes()),
        _ => header.copy_from_slice(&(len as u32 | LONG).to_be_bytes()),
    }
}

/// Splits the first message off `batch`. `None` if it is malformed; the rest of the batch is then malformed
/// as well.
pub(super) fn decode(batch: &mut Buf) -> Option<Buf> {
    let (header, len) = match *batch.first()? {
        first if first & 0x80 == 0 => (2, usize::from(u16::from_be_bytes(*batch.first_chunk()?))),
        _ => (4, (u32::from_be_bytes(*batch.first_chunk()?) & !LONG) as usize),
    };
    batch.advance(header).ok()?;
    batch.split_to(len).ok()
}
