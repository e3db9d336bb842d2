//! Caladan's resources that are in use.

use crate::bindings;
use crate::places;

/// The resources of Caladan that this process uses at a moment; see [`usage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// Number of tasks that have begun and not ended, of at most [`Config::tasks`](crate::Config::tasks).
    pub tasks: usize,
    /// Number of sockets that Caladan has not closed yet, listeners' sockets included. A socket is closed
    /// some time after its connection was dropped; over TCP, once the peer has agreed.
    pub sockets: usize,
}

/// Returns the resources of Caladan that this process uses now. Any thread may call it; before the runtime
/// has started, all numbers are zero.
pub fn usage() -> Usage {
    Usage { tasks: places::taken(), sockets: bindings::sockets() }
}
