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

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::{Addr, Headroom, Properties};
    use bertha_runtime::tokio::TokioRuntime;

    /// A datapath without a free buffer, for this reason.
    struct Scarce(ErrorKind, Headroom);

    impl Base for Scarce {
        type Runtime = TokioRuntime;

        fn runtime(&self) -> &TokioRuntime {
            &TokioRuntime
        }

        fn headroom(&self) -> &Headroom {
            &self.1
        }

        fn buffer(&self, _len: usize) -> Result<Buf, Error> {
            Err(Error::new(self.0, "no buffer"))
        }

        fn mtu(&self) -> usize {
            1_000
        }

        fn local_addr(&self) -> Addr {
            Addr::Unnamed
        }

        fn peer_addr(&self) -> Addr {
            Addr::Unnamed
        }

        fn properties(&self) -> Properties {
            Properties::DATAGRAM
        }
    }

    #[test]
    fn pieces_lie_elsewhere_while_the_datapath_has_no_buffer_and_end_at_any_other_error() {
        for (kind, lengths) in [(ErrorKind::Exhausted, &[115, 65][..]), (ErrorKind::TooLarge, &[])] {
            let (base, mut failed) = (Scarce(kind, Headroom::new()), None);
            base.reserve(4);
            let mut pieces = Pieces::new(&base, &[7; 150], 1, 100, &mut failed);
            let made: Vec<_> = pieces.by_ref().collect();
            assert!(pieces.next().is_none());
            assert!(made.iter().map(|piece| piece.len()).eq(lengths.iter().copied()));
            assert!(made.iter().all(|piece| piece.headroom() >= 4));
            assert_eq!(failed.map(|error| error.kind()), lengths.is_empty().then_some(kind));
        }
    }
}
