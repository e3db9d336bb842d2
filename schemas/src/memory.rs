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

    /// Leaves a row of so many bytes, to which the reference at `reference` of this room leads, at the address `from` of the memory from which
    /// messages come. Returns false if it has to be copied, which the default says.
    ///
    /// A room that leaves a row sees to it that the row comes to where the message is read, writes the address that it will have there into the
    /// eight bytes at `reference`, and is trusted no more than the memory: a reader of the message has to check the row.
    fn leave(&mut self, _reference: u64, _from: u64, _bytes: usize) -> bool {
        false
    }

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
