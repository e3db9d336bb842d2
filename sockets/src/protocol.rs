//! The words between a program and the daemon that pairs sockets.
//!
//! ```text
//!  program                                   daemon
//!     | -- hello; the TCP socket -------------> |
//!     | <----- answer; a memfd, if it is paired |
//! ```
//!
//! A hello has eight bytes, and with it comes one descriptor, of a connected TCP socket. The daemon answers when the other end of the
//! connection has come too, or when it has waited long enough, by 16 bytes: a [code](Answer), seven zeros, and the bytes of a
//! ring, least significant byte first.

/// The hello of a program: a name, and the version.
pub const HELLO: [u8; 8] = *b"bersock\x01";

/// The wish of a person, instead of a hello: the daemon answers by a line for each end, and closes the connection. A line has, with tabs
/// between them: the process, its address, the other address, `ring`, `kernel`, `relay`, `stack` or `nowhere`, the number of moves, seconds,
/// and a reason.
pub const LIST: [u8; 8] = *b"bersock?";

/// The hello of a program whose TCP socket another is to take the place of, as its other end does not answer. With it come two
/// descriptors: that socket, and an empty file in memory. The daemon answers by a [reply](crate::device::Reply) with the other socket. Then
/// the program writes the bytes that it has not read yet into the file, and tells their number by eight bytes, least significant
/// first. From then on the daemon carries the bytes between the two sockets, those of the file before any other.
pub const RELAY: [u8; 8] = *b"bersock~";

/// The bytes of the file at most.
pub const UNREAD: u64 = 128 << 20;

/// The bit of their number that says that the connection was cut behind them, of which the kernel tells once.
pub const CUT: u64 = 1 << 63;

/// The bytes of an answer.
pub const ANSWER: usize = 16;

/// The answer of the daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The socket is paired, and this end is the client of the memory.
    Client(u64),
    /// The socket is paired, and this end is the server of the memory.
    Server(u64),
    /// The socket stays with the kernel.
    Refused,
}

impl Answer {
    /// Writes the answer.
    pub fn encode(self) -> [u8; ANSWER] {
        let (code, bytes) = match self {
            Self::Client(bytes) => (1, bytes),
            Self::Server(bytes) => (2, bytes),
            Self::Refused => (3, 0),
        };
        let mut answer = [0; ANSWER];
        answer[0] = code;
        answer[8..].copy_from_slice(&bytes.to_le_bytes());
        answer
    }

    /// Reads an answer.
    pub fn decode(answer: &[u8; ANSWER]) -> Self {
        let bytes = answer.last_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        match answer[0] {
            1 => Self::Client(bytes),
            2 => Self::Server(bytes),
            _ => Self::Refused,
        }
    }
}
