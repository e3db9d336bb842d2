//! The bounds that every store keeps.

/// The longest name of a connection, in bytes.
pub const NAME: usize = 128;

/// The longest key of an entry, in bytes.
pub const KEY: usize = 64;

/// The largest value of an entry, in bytes.
pub const VALUE: usize = 16 * 1024;

/// The most conditions of a transaction, and the most writes.
pub const OPERATIONS: usize = 16;

/// The most entries of a connection: those of all participants and two more.
pub const ENTRIES: usize = PARTICIPANTS + 2;

/// The most participants of a connection. Beyond that a newcomer is turned away.
pub const PARTICIPANTS: usize = 256;
