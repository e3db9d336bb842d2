//! The pieces of one message.

use super::piece::{PIECE_HEADER, Piece};
use bertha_core::{Base, Buf, Error, ErrorKind};
use std::ops::Range;

/// The pieces of a message, each in a buffer of its own, since each piece needs headroom. The iterator ends
/// at the first piece for which there is no buffer, and stores the error in `failed`.
pub(super) struct Pieces<'a, B> {
    base: &'a B,
    message: &'a [u8],
    next: Piece,
    failed: &'a mut Option<Error>,
}

impl<'a, B: Base> Pieces<'a, B> {
    pub(super) fn new(
        base: &'a B,
        message: &'a [u8],
        number: u32,
        size: usize,
        failed: &'a mut Option<Error>,
    ) -> Self {
        let next = Piece { message: number, length: message.len() as u32, index: 0, size: size as u16 };
        Self { base, message, next, failed }
    }

    fn cut(&self, range: Range<usize>) -> Result<Buf, Error> {
        let len = range.len();
        let mut piece = match self.base.buffer(PIECE_HEADER + len) {
            // A layer below may hold buffers until the datapath has a free buffer again.
            Err(error) if error.kind() == ErrorKind::Exhausted => {
                Buf::new(PIECE_HEADER + len, self.base.reserved())?
            }
            piece => piece?,
        };
        if let Some((header, bytes)) = piece.split_first_chunk_mut() {
            self.next.encode(header);
            bytes.copy_from_slice(&self.message[range]);
        }
        Ok(piece)
    }
}

impl<B: Base> Iterator for Pieces<'_, B> {
    type Item = Buf;

    fn next(&mut self) -> Option<Buf> {
        if self.failed.is_some() {
            return None;
        }
        let range = self.next.range()?;
        match self.cut(range) {
            Ok(piece) => {
                self.next.index += 1;
                Some(piece)
            }
            Err(error) => {
                *self.failed = Some(error);
                None
            }
        }
    }
}
