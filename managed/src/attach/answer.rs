//! The messages about memory between an application and a daemon.

use super::Malformed;

/// A message of the daemon, of 16 bytes: a kind, seven zeros, and a number of 64 bits, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The application is taken. The socket of the queue comes with it.
    Taken,
    /// The application is not taken. A text of so many bytes follows, which says why.
    Refused {
        /// Number of bytes.
        text: u32,
    },
    /// The send heap grows. A region of so many bytes comes with it.
    Granted {
        /// Number of bytes.
        bytes: u64,
    },
    /// The send heap does not grow.
    Full,
    /// The receive heap grows. A region of so many bytes comes with it.
    Lent {
        /// Number of bytes.
        bytes: u64,
    },
}

impl Answer {
    /// Number of bytes of an answer.
    pub const SIZE: usize = 16;

    /// Number of bytes of the longest text of a refusal.
    pub const LONGEST: usize = 64 << 10;

    /// Returns the bytes.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        let (kind, number) = match self {
            Self::Taken => (1, 0),
            Self::Refused { text } => (2, u64::from(text)),
            Self::Granted { bytes } => (3, bytes),
            Self::Full => (4, 0),
            Self::Lent { bytes } => (5, bytes),
        };
        let mut bytes = [0; Self::SIZE];
        bytes[0] = kind;
        bytes[8..].copy_from_slice(&u64::to_le_bytes(number));
        bytes
    }

    /// Reads an answer.
    ///
    /// # Errors
    /// Fails for bytes that no answer has.
    pub fn read(bytes: &[u8; Self::SIZE]) -> Result<Self, Malformed> {
        let (kind, number) = (bytes[0], u64::from_le_bytes(*after_kind(bytes)));
        let answer = match kind {
            1 => Self::Taken,
            2 => Self::Refused { text: u32::try_from(number).unwrap_or(u32::MAX) },
            3 => Self::Granted { bytes: number },
            4 => Self::Full,
            5 => Self::Lent { bytes: number },
            _ => return Err(UNKNOWN),
        };
        if answer.to_bytes() == *bytes { Ok(answer) } else { Err(UNKNOWN) }
    }

    /// Returns true if a descriptor comes with the answer.
    pub fn has_descriptor(self) -> bool {
        matches!(self, Self::Taken | Self::Granted { .. } | Self::Lent { .. })
    }
}

const UNKNOWN: Malformed = Malformed { what: "an answer of the daemon is not understood" };

fn after_kind(bytes: &[u8; Answer::SIZE]) -> &[u8; 8] {
    bytes.last_chunk().unwrap_or(&[0; 8])
}

/// A message of the application, of eight bytes: it wants its send heap to grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grow {
    /// Number of bytes of the region.
    pub bytes: u64,
}

impl Grow {
    /// Number of bytes of the message.
    pub const SIZE: usize = 8;

    /// Returns the bytes: the number, little-endian.
    pub fn to_bytes(self) -> [u8; Self::SIZE] {
        self.bytes.to_le_bytes()
    }

    /// Reads the message. All bytes are a number.
    pub fn read(bytes: [u8; Self::SIZE]) -> Self {
        Self { bytes: u64::from_le_bytes(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_were_written_and_nothing_else_is() {
        let bytes = 1 << 40;
        for (number, answer) in [
            Answer::Taken,
            Answer::Refused { text: 7 },
            Answer::Granted { bytes },
            Answer::Full,
            Answer::Lent { bytes },
        ]
        .into_iter()
        .enumerate()
        {
            let mut bytes = answer.to_bytes();
            assert_eq!((bytes[0], Answer::read(&bytes)), (number as u8 + 1, Ok(answer)));
            bytes[3] = 1;
            assert_eq!(Answer::read(&bytes), Err(UNKNOWN));
        }
        for kind in [0, 6, 255] {
            let mut bytes = [0; Answer::SIZE];
            bytes[0] = kind;
            assert_eq!(Answer::read(&bytes), Err(UNKNOWN));
        }
        let grow = Grow { bytes: 65_536 };
        assert_eq!((grow.to_bytes(), Grow::read(grow.to_bytes())), ([0, 0, 1, 0, 0, 0, 0, 0], grow));
    }
}
