//! The bounds that every store keeps.

/// Maximum length of a connection's name, in bytes.
pub const NAME: usize = 128;

/// Maximum length of an entry's key, in bytes.
pub const KEY: usize = 64;

/// Maximum size of an entry's value, in bytes.
pub const VALUE: usize = 16 * 1024;

/// Maximum number of conditions of a transaction, and of writes.
pub const OPERATIONS: usize = 16;

/// Maximum number of entries of a connection: the entries of all participants and two more.
pub const ENTRIES: usize = PARTICIPANTS + 2;

/// Maximum number of participants of a connection. Further newcomers are turned away.
pub const PARTICIPANTS: usize = 256;
