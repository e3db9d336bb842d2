//! The resources that are taken.

use crate::bindings;
use crate::places;

/// The resources that this process takes of Caladan at a moment; see [`usage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Usage {
    /// The tasks that have begun and not ended, of as many as [`Config::tasks`](crate::Config::tasks) allows.
    pub tasks: usize,
    /// The sockets that Caladan has not closed yet, those of listeners included. One is closed some time after its connection was dropped, over
    /// TCP once the peer has agreed.
    pub sockets: usize,
}

/// How much of Caladan's resources this process takes now. In any thread; zeros before the runtime has started.
pub fn usage() -> Usage {
    Usage { tasks: places::taken(), sockets: bindings::sockets() }
}
