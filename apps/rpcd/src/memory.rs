//! Heaps as the interpreter of schemas sees them.

use bertha_managed::heap::{Foreign, Message};
use bertha_schemas::{Memory, NoRoom, Outside, Room};

/// The send heap of an application.
#[derive(Debug)]
pub(crate) struct Sent<'a>(pub(crate) &'a Foreign);

impl Memory for Sent<'_> {
    #[inline]
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        self.0.read(at, into).map_err(|outside| Outside { at: outside.at })
    }
}

/// A message in the receive heap of an application.
#[derive(Debug)]
pub(crate) struct Lending<'a>(pub(crate) Message<'a>);

impl Room for Lending<'_> {
    #[inline]
    fn reserve(&mut self, bytes: usize) -> Result<u64, NoRoom> {
        self.0.reserve(bytes).ok_or(NoRoom)
    }

    #[inline]
    fn bytes(&mut self, at: u64, len: usize) -> &mut [u8] {
        self.0.bytes(at, len)
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<u64, NoRoom> {
        self.0.put(bytes).ok_or(NoRoom)
    }
}
