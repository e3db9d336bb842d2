//! The limits of what a message costs.

/// The limits of what a message costs. A message beyond a limit is a [`Fault`](crate::Fault).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Number of bytes of the encoded message: 4 MiB.
    pub encoded: usize,
    /// Number of bytes that are read from memory for an encoded message, or reserved in memory for a decoded one: 64 MiB. A message
    /// of two bytes can stand for a structure of many.
    pub memory: usize,
    /// Depth of messages in messages: 100, as of other implementations of protobuf. More than 1,000 count as 1,000, as each level takes
    /// a part of the stack. Groups, which are skipped, count as levels.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { encoded: 4 << 20, memory: 64 << 20, depth: 100 }
    }
}

impl Limits {
    /// Sets the limit of the encoded message, in bytes.
    pub fn encoded(self, encoded: usize) -> Self {
        Self { encoded, ..self }
    }

    /// Sets the limit of the memory, in bytes.
    pub fn memory(self, memory: usize) -> Self {
        Self { memory, ..self }
    }

    /// Returns the depth that counts.
    pub(crate) fn levels(self) -> u32 {
        self.depth.min(1_000)
    }

    /// Sets the limit of the depth.
    pub fn depth(self, depth: u32) -> Self {
        Self { depth, ..self }
    }
}
