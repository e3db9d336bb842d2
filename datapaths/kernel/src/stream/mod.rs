//! Stream sockets, over which messages are framed or bytes go as they are: for TCP and Unix sockets alike.

mod connection;
mod listener;
mod parts;
mod receiver;
mod statistics;
mod unfinished;
mod writer;

use crate::async_socket::AsyncSocket;
use crate::{Credentials, Waiting};
use bertha_core::Addr;
pub use connection::StreamConnection;
pub use listener::StreamListener;
pub use statistics::StreamStatistics;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// A connected stream socket of tokio's.
pub trait StreamSocket: AsyncSocket + AsFd + fmt::Debug + Sized {
    /// The name in errors.
    const NAME: &'static str;

    /// The socket that accepts such streams, with the file to remove with it if there is one.
    type Acceptor: AsFd + fmt::Debug + Send + Sync + 'static;

    /// Sets the options of a new connection, which sends a keep-alive to a peer that has been silent for `keep_alive`.
    ///
    /// # Errors
    /// The errors of the system.
    fn prepare(&self, _keep_alive: Option<Duration>) -> io::Result<()> {
        Ok(())
    }

    /// Returns the address of this end.
    ///
    /// # Errors
    /// The errors of the system.
    fn local_addr(&self) -> io::Result<Addr>;

    /// Returns the owner of the peer process, if the kernel vouches for it.
    ///
    /// # Errors
    /// The errors of the system.
    fn peer_credentials(&self) -> io::Result<Option<Credentials>> {
        Ok(None)
    }

    /// Waits for the next stream, and its peer's address. Cancellation-safe.
    ///
    /// # Errors
    /// The errors of the system.
    fn accept(acceptor: &Self::Acceptor) -> impl Future<Output = io::Result<(Self, Addr)>> + Send;

    /// Returns the address at which the acceptor listens.
    ///
    /// # Errors
    /// The errors of the system.
    fn listens_at(acceptor: &Self::Acceptor) -> io::Result<Addr>;
}

/// The settings of connections over stream sockets.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) waiting: Waiting,
    /// The largest message in bytes.
    pub(crate) largest: usize,
    pub(crate) receive_buffer: Option<usize>,
    pub(crate) send_buffer: Option<usize>,
    pub(crate) backlog: u32,
    /// The memory of messages that have arrived in part, of all connections of a listener, in bytes.
    pub(crate) unfinished: usize,
    pub(crate) keep_alive: Option<Duration>,
}

/// The memory of unfinished messages by default, in bytes.
const UNFINISHED: usize = 1 << 30;

/// The silence after which TCP asks the peer for a sign of life, by default.
const KEEP_ALIVE: Duration = Duration::from_secs(300);

impl Default for Settings {
    fn default() -> Self {
        Self {
            waiting: Waiting::default(),
            largest: 16 << 20,
            receive_buffer: None,
            send_buffer: None,
            backlog: 4096,
            unfinished: UNFINISHED,
            keep_alive: Some(KEEP_ALIVE),
        }
    }
}

impl Settings {
    /// Applies the sizes of the kernel's buffers.
    pub(crate) fn apply(&self, socket: &socket2::Socket) -> io::Result<()> {
        if let Some(bytes) = self.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        if let Some(bytes) = self.send_buffer {
            socket.set_send_buffer_size(bytes)?;
        }
        Ok(())
    }

    /// The backlog as the system takes it.
    pub(crate) fn backlog(&self) -> i32 {
        i32::try_from(self.backlog).unwrap_or(i32::MAX)
    }
}

/// The methods that set `self.settings`, for a type with a parameter `Data` that [`Octets`](bertha_core::Octets) stand for.
macro_rules! settings_methods {
    () => {
        /// How a receiver waits. [`Park`](crate::Waiting::Park) by default.
        #[must_use]
        pub fn waiting(mut self, waiting: crate::Waiting) -> Self {
            self.settings.waiting = waiting;
            self
        }

        /// The largest message in bytes, 16 MiB by default, at most 127 MiB. A peer that announces a larger one is
        /// [`Malformed`](bertha_core::ErrorKind::Malformed), which ends the connection. Of bytes, the largest chunk that is sent.
        #[must_use]
        pub fn largest(mut self, bytes: usize) -> Self {
            self.settings.largest = bytes.min(127 << 20);
            self
        }

        /// The kernel's receive buffer of each socket in bytes. By default the kernel's own choice.
        #[must_use]
        pub fn receive_buffer(mut self, bytes: usize) -> Self {
            self.settings.receive_buffer = Some(bytes);
            self
        }

        /// The kernel's send buffer of each socket in bytes. By default the kernel's own choice.
        #[must_use]
        pub fn send_buffer(mut self, bytes: usize) -> Self {
            self.settings.send_buffer = Some(bytes);
            self
        }

        /// The most memory in bytes that messages which have arrived in part take in all connections of a listener together, 1 GiB by default. The
        /// first 64 KiB of each connection don't count. Beyond it, the connection whose message has not grown for longest ends with
        /// [`Reset`](bertha_core::ErrorKind::Reset).
        #[must_use]
        pub fn unfinished(mut self, bytes: usize) -> Self {
            self.settings.unfinished = bytes;
            self
        }

        /// The number of connections that the kernel holds until they are accepted, 4096 by default. The system may grant fewer.
        #[must_use]
        pub fn backlog(mut self, connections: u32) -> Self {
            self.settings.backlog = connections;
            self
        }
    };
}
pub(crate) use settings_methods;
