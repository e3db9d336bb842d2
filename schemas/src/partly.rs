//! A message of which some fields were copied.

use crate::{Memory, Outside, PrivateMemory};

/// A message of which [some fields were copied](crate::Plan::copy_fields): they are read in the copy, and the others where they were.
///
/// An address of the copy is read there alone, so the other memory has no addresses as low: those of a copy are less than 4 KiB above its
/// capacity.
#[derive(Debug, Clone, Copy)]
pub struct Partly<'a, M> {
    copy: &'a PrivateMemory,
    rest: &'a M,
}

impl<'a, M: Memory> Partly<'a, M> {
    /// Makes a message of a copy, and of the memory from which it comes.
    pub fn new(copy: &'a PrivateMemory, rest: &'a M) -> Self {
        Self { copy, rest }
    }
}

impl<M: Memory> Memory for Partly<'_, M> {
    #[inline]
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        match self.copy.read(at, into) {
            Ok(()) => Ok(()),
            Err(_) => self.rest.read(at, into),
        }
    }
}
