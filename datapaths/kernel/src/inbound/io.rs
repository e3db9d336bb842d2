//! What the sockets of tokio have in common, and have no trait for.

use std::io;
use std::task::{Context, Poll};
use tokio::io::{Interest, Ready};

/// Whether a receiving call took all there was.
#[derive(Debug, Clone, Copy)]
pub struct Drained(pub(crate) bool);

/// A socket that is registered with tokio's reactor. The methods are tokio's.
pub trait Io: Send + Sync + 'static {
    /// Waits until the socket is ready.
    fn ready(&self, interest: Interest) -> impl Future<Output = io::Result<Ready>> + Send;

    /// Registers a waker for readability, in place of the last one.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Runs `operation` if the socket may be ready; its `WouldBlock` re-arms the reactor.
    fn try_io<T>(&self, interest: Interest, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T>;

    /// The error that the kernel holds for the socket.
    fn take_error(&self) -> io::Result<Option<io::Error>>;

    /// Runs `receive` if the socket may be readable, or in any case if `eager`. It says whether it took all there was:
    /// then the reactor is re-armed at once, and the next attempt costs no system call that finds nothing.
    #[inline]
    fn attempt<T>(&self, eager: bool, receive: impl FnOnce() -> io::Result<(T, Drained)>) -> io::Result<T> {
        let mut last = None;
        let operation = || match receive()? {
            (received, Drained(false)) => Ok(received),
            (received, Drained(true)) => {
                last = Some(received);
                // Safe, since the reactor is edge-triggered: what arrived in between is reported anew.
                Err(io::ErrorKind::WouldBlock.into())
            }
        };
        let outcome = if eager { operation() } else { self.try_io(Interest::READABLE, operation) };
        last.map_or(outcome, Ok)
    }

    /// Waits until the kernel reports an error, which does not make the socket readable.
    fn failed(&self) -> impl Future<Output = io::Error> + Send {
        async {
            loop {
                if let Err(error) = self.ready(Interest::ERROR).await {
                    return error;
                }
                match self.take_error() {
                    Ok(Some(error)) | Err(error) => return error,
                    // A `send` or `recv` has reported it already.
                    Ok(None) => {}
                }
                let _: io::Result<()> =
                    self.try_io(Interest::ERROR, || Err(io::ErrorKind::WouldBlock.into()));
            }
        }
    }

    /// Runs `send` until it does not block. Asks the kernel first: a socket is writable nearly always.
    fn when_writable<T: Send>(
        &self,
        mut send: impl FnMut() -> io::Result<T> + Send,
    ) -> impl Future<Output = io::Result<T>> + Send {
        async move {
            match send() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
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

macro_rules! impl_io {
    ($($socket:ty: $poll_readable:ident),*) => {$(
        impl Io for $socket {
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

impl_io!(
    tokio::net::UdpSocket: poll_recv_ready,
    tokio::net::UnixDatagram: poll_recv_ready,
    tokio::net::TcpStream: poll_read_ready
);
