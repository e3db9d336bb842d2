//! What can be chosen for a connection.

use std::time::Duration;

/// See the methods of [`Reliable`](super::Reliable).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(super) packet: usize,
    pub(crate) messages: usize,
    pub(super) bytes: usize,
    pub(super) idle: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // What passes every path of the Internet with room for tunnels: 1,280 bytes is IPv6's minimum, and almost
            // all paths carry 1,400.
            packet: 1_352,
            messages: 4_096,
            bytes: 4 * 1024 * 1024,
            idle: Duration::from_secs(30),
        }
    }
}
