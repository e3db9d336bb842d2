//! A UDP socket and its registration with tokio.

use crate::async_socket::AsyncSocket;
use crate::within_tokio::within_tokio;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::OnceLock;
use std::task::{Context, Poll};
use tokio::io::{Interest, Ready};

/// A UDP socket, which is registered with a tokio runtime at once or by its first use.
#[derive(Debug)]
pub enum UdpIo {
    /// The socket is registered.
    Registered(tokio::net::UdpSocket),
    /// The socket is registered with the runtime of the thread that receives or waits first: the socket of a
    /// shard is opened by the listener's thread, and belongs to the shard's.
    OnFirstUse {
        /// The socket, which sends without registration.
        socket: std::net::UdpSocket,
        /// A second descriptor of the socket, which is registered.
        registered: OnceLock<tokio::net::UdpSocket>,
    },
}

impl UdpIo {
    pub(super) fn on_first_use(socket: std::net::UdpSocket) -> Self {
        Self::OnFirstUse { socket, registered: OnceLock::new() }
    }

    /// Returns the socket as tokio knows it.
    #[inline]
    pub(super) fn registered(&self) -> io::Result<&tokio::net::UdpSocket> {
        match self {
            Self::Registered(io) => Ok(io),
            Self::OnFirstUse { socket, registered } => match registered.get() {
                Some(io) => Ok(io),
                None => register(socket, registered),
            },
        }
    }

    pub(super) fn local_addr(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Registered(io) => io.local_addr(),
            Self::OnFirstUse { socket, .. } => socket.local_addr(),
        }
    }
}

#[cold]
fn register<'a>(
    socket: &std::net::UdpSocket,
    registered: &'a OnceLock<tokio::net::UdpSocket>,
) -> io::Result<&'a tokio::net::UdpSocket> {
    within_tokio()?;
    let io = tokio::net::UdpSocket::from_std(socket.try_clone()?)?;
    Ok(registered.get_or_init(|| io))
}

impl AsFd for UdpIo {
    #[inline]
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Registered(io) => io.as_fd(),
            Self::OnFirstUse { socket, .. } => socket.as_fd(),
        }
    }
}

impl AsyncSocket for UdpIo {
    async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.registered()?.ready(interest).await
    }

    #[inline]
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.registered() {
            Ok(io) => io.poll_recv_ready(cx),
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    #[inline]
    fn try_io<T>(&self, interest: Interest, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.registered()?.try_io(interest, operation)
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.registered()?.take_error()
    }
}
