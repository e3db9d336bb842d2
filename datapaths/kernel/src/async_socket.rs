//! The methods that tokio's sockets have in common, as a trait.

use std::io;
use std::task::{Context, Poll};
use tokio::io::{Interest, Ready};

/// What a receiving call knows about messages that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// No message is left: the reactor is re-armed at once, and the next attempt costs no futile system call.
    Nothing,
    /// Messages may be left, as far as the call knows.
    Unknown,
}

/// A socket that is registered with tokio's reactor. The methods are tokio's own.
pub trait AsyncSocket: Send + Sync + 'static {
    /// Waits until the socket is ready.
    fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send;

    /// Registers a waker for readability, in place of the last waker.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Runs `operation` if the socket may be ready; its `WouldBlock` re-arms the reactor.
    fn try_io<T>(&self, interest: Interest, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T>;

    /// Returns the error that the kernel holds for the socket.
    fn take_error(&self) -> io::Result<Option<io::Error>>;

    /// Runs `receive` if the socket may be readable, or in any case if `eager`.
    ///
    /// # Errors
    /// `WouldBlock` if the reactor knows that the socket is empty; errors of `receive`, whose `WouldBlock`
    /// re-arms the reactor.
    #[inline]
    fn attempt<T>(&self, eager: bool, receive: impl FnOnce() -> io::Result<(T, Left)>) -> io::Result<T> {
        let mut last = None;
        let operation = || match receive()? {
            (received, Left::Unknown) => Ok(received),
            (received, Left::Nothing) => {
                last = Some(received);
                // This is safe, since the reactor is edge-triggered: a message that arrived in between is
                // reported anew.
                Err(io::ErrorKind::WouldBlock.into())
            }
        };
        let outcome = if eager { operation() } else { self.try_io(Interest::READABLE, operation) };
        last.map_or(outcome, Ok)
    }

    /// Waits until the kernel reports an error, which does not make the socket readable.
    fn error(&self) -> impl Future<Output = io::Error> + Send {
        async {
            loop {
                if let Err(error) = self.ready(Interest::ERROR).await {
                    return error;
                }
                match self.take_error() {
                    Ok(Some(error)) | Err(error) => return error,
                    // A `send` or `recv` has already reported the error.
                    Ok(None) => {}
                }
                let _: io::Result<()> =
                    self.try_io(Interest::ERROR, || Err(io::ErrorKind::WouldBlock.into()));
            }
        }
    }

    /// Runs `send` again and again until it does not block. A first attempt has blocked before.
    fn when_writable<T: Send>(
        &self,
        mut send: impl FnMut() -> io::Result<T> + Send,
    ) -> impl Future<Output = io::Result<T>> + Send {
        async move {
            loop {
                self.ready(Interest::WRITABLE).await?;
                match self.try_io(Interest::WRITABLE, &mut send) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    done => return done,
                }
            }
        }
    }
}

/// Returns the outcome of a call that was made without asking the reactor, since a socket is writable nearly
/// always. Returns `None` if the call has to be repeated [when the socket is
/// writable](AsyncSocket::when_writable).
#[inline]
pub(crate) fn unless_blocked<T>(sent: io::Result<T>) -> Option<io::Result<T>> {
    match sent {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        done => Some(done),
    }
}

macro_rules! impl_async_socket {
    ($($socket:ty: $poll_readable:ident),*) => {$(
        impl AsyncSocket for $socket {
            fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send {
                self.ready(interest)
            }

            fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.$poll_readable(cx)
            }

            fn try_io<T>(
                &self,
                interest: Interest,
                operation: impl FnOnce() -> io::Result<T>,
            ) -> io::Result<T> {
                self.try_io(interest, operation)
            }

            fn take_error(&self) -> io::Result<Option<io::Error>> {
                self.take_error()
            }
        }
    )*};
}

impl_async_socket!(
    tokio::net::UdpSocket: poll_recv_ready,
    tokio::net::UnixDatagram: poll_recv_ready,
    tokio::net::TcpStream: poll_read_ready,
    tokio::net::UnixStream: poll_read_ready
);
