//! Cutting a message.

use super::piece::{PIECE_HEADER, Piece};
use bertha_core::{Base, Buf, Error, ErrorKind};

/// The pieces of a message, each in a buffer of its own: two can't share the message's, since each needs room in front.
/// Ends at the first for which there is no buffer, and leaves why in `failed`.
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
        let next = Piece { message: number, length: message.len() as u32, place: 0, size: size as u16 };
        Self { base, message, next, failed }
    }

    fn cut(&self, start: usize, len: usize) -> Result<Buf, Error> {
        let mut piece = match self.base.buffer(PIECE_HEADER + len) {
            // The layer below may keep it, or the datapath may have a buffer again when it is its turn.
            Err(error) if error.kind() == ErrorKind::Exhausted => {
                Buf::new(PIECE_HEADER + len, self.base.reserved())?
            }
            piece => piece?,
        };
        if let Some((header, bytes)) = piece.split_first_chunk_mut() {
            self.next.write(header);
            bytes.copy_from_slice(&self.message[start..start + len]);
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
        let (start, len) = self.next.extent()?;
        match self.cut(start, len) {
            Ok(piece) => {
                self.next.place += 1;
                Some(piece)
            }
            Err(error) => {
                *self.failed = Some(error);
                None
            }
        }
    }
}
