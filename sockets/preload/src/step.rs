//! A try to receive.

use libc::c_int;

/// The times that a receiver wakes up for nothing before the other end has broken the rules.
pub(crate) const IDLE: u32 = 64;

/// The outcome of a try.
pub(crate) enum Step {
    Got(usize),
    /// Nothing is there now.
    Empty,
    End,
    Failed(c_int),
    /// The descriptor is not this socket's any more, or the socket has no memory any more.
    Elsewhere,
}
