//! The limits of messages.

/// Length of the longest key in bytes.
///
/// Below 128 the length of the key takes exactly one byte in bincode's and in postcard's variable-length
/// integers, so the key itself always begins at the same offset of a serialised message.
pub const MAX_KEY: usize = 127;

/// Length of the longest value in bytes: the room in a UDP datagram next to the longest key and the headers.
pub const MAX_VALUE: usize = 60 * 1024;

/// Maximum number of records that a single scan asks for.
pub const MAX_SCAN: usize = 1000;
