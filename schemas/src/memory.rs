//! The memory in which messages lie.

use std::fmt;

/// Memory from which messages are read. It may change at any time.
pub trait Memory {
    /// Copies the bytes from this address on. Each byte is read once.
    ///
    /// # Errors
    /// Fails if some of the bytes lie outside of the memory; then `into` has any content.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside>;
}

/// Memory into which messages are written. It changes through this value alone.
pub trait Room {
    /// Reserves bytes that are zero, and returns their address, a multiple of eight that is not zero.
    ///
    /// # Errors
    /// Fails if there are not as many.
    fn reserve(&mut self, bytes: usize) -> Result<u64, NoRoom>;

    /// Returns the bytes from this address on. The caller asks for bytes of a single reservation only.
    fn bytes(&mut self, at: u64, len: usize) -> &mut [u8];

    /// Copies bytes into room of their own, and returns their address.
    ///
    /// # Errors
    /// Fails if there is none.
    fn put(&mut self, bytes: &[u8]) -> Result<u64, NoRoom> {
        let at = self.reserve(bytes.len())?;
        self.bytes(at, bytes.len()).copy_from_slice(bytes);
        Ok(at)
    }
}

/// An address outside of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outside {
    /// The address.
    pub at: u64,
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the address {:#x} lies outside of the memory", self.at)
    }
}

impl std::error::Error for Outside {}

/// A lack of room for a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoRoom;

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("there is no room for the message")
    }
}

impl std::error::Error for NoRoom {}
