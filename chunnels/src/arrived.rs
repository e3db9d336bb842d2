//! Pieces that arrive from the connection below, messages or chunks.

use bertha_core::{Buf, Octets};
use std::collections::VecDeque;
use std::marker::PhantomData;

/// Appends pieces to a queue, without empty ones.
pub(crate) struct Arrived<'a, Data> {
    pieces: &'a mut VecDeque<Buf>,
    /// True if the empty chunk, the end of the stream, was among the pieces. An empty message has no meaning.
    pub(crate) has_ended: bool,
    data: PhantomData<fn(Data)>,
}

impl<'a, Data> Arrived<'a, Data> {
    pub(crate) fn new(pieces: &'a mut VecDeque<Buf>) -> Self {
        Self { pieces, has_ended: false, data: PhantomData }
    }
}

impl<Data: Octets> Extend<Data> for Arrived<'_, Data> {
    fn extend<I: IntoIterator<Item = Data>>(&mut self, arrived: I) {
        for piece in arrived {
            let piece: Buf = piece.into();
            if !piece.is_empty() {
                self.pieces.push_back(piece);
            } else if !Data::HAS_BOUNDS {
                self.has_ended = true;
            }
        }
    }
}
