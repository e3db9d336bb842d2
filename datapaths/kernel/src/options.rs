//! The settings that datagram datapaths share.

use crate::Waiting;
use bertha_runtime::polling::Limits;

/// Size in bytes of the kernel's receive buffer of each socket, unless another size is set.
pub(crate) const RECEIVE_BUFFER: usize = 4 << 20;

/// The settings of a datagram datapath.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) waiting: Waiting,
    pub(crate) receive_buffer: usize,
    pub(crate) send_buffer: usize,
    pub(crate) limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            waiting: Waiting::default(),
            receive_buffer: RECEIVE_BUFFER,
            send_buffer: 4 << 20,
            limits: Limits { backlog: 1024, queue: 1024, shared: usize::MAX },
        }
    }
}

/// The methods that set `self.options`.
macro_rules! option_methods {
    () => {
        /// Creates a datapath with the default settings of the methods below.
        pub fn new() -> Self {
            Self::default()
        }

        /// Sets the policy by which receivers wait: [`Park`](crate::Waiting::Park) by default.
        #[must_use]
        pub fn waiting(mut self, waiting: crate::Waiting) -> Self {
            self.options.waiting = waiting;
            self
        }

        /// Sets the size of the kernel's receive buffer of each socket in bytes, 4 MiB by default. The system
        /// may grant less.
        #[must_use]
        pub fn receive_buffer(mut self, bytes: usize) -> Self {
            self.options.receive_buffer = bytes;
            self
        }

        /// Sets the size of the kernel's send buffer of each socket in bytes, 4 MiB by default. The system
        /// may grant less.
        #[must_use]
        pub fn send_buffer(mut self, bytes: usize) -> Self {
            self.options.send_buffer = bytes;
            self
        }

        /// Sets the number of connections of a listener that may wait to be accepted, 1024 by default. A
        /// further connection evicts the oldest waiting connection, whose messages are dropped and counted.
        #[must_use]
        pub fn backlog(mut self, connections: usize) -> Self {
            self.options.limits.backlog = connections;
            self
        }

        /// Sets the number of messages that may wait for each connection of a listener: 1024 by default, and
        /// at most 32 until the connection is accepted. Messages beyond this number are dropped and counted.
        #[must_use]
        pub fn queue(mut self, messages: usize) -> Self {
            self.options.limits.queue = messages;
            self
        }
    };
}
pub(crate) use option_methods;
