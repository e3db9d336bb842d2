//! Sockets that are closed aside.

use super::close_aside;
use std::fmt;
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use tokio::io::unix::AsyncFd;
use tokio::net::{TcpStream, UnixListener, UnixStream};

/// A socket of tokio's that can be taken out of the runtime.
pub trait Release: AsFd {
    /// Takes it out, and returns its descriptor.
    ///
    /// # Errors
    /// The errors of the system. The socket is closed then.
    fn release(self) -> io::Result<OwnedFd>;
}

impl Release for UnixStream {
    fn release(self) -> io::Result<OwnedFd> {
        self.into_std().map(OwnedFd::from)
    }
}

impl Release for TcpStream {
    fn release(self) -> io::Result<OwnedFd> {
        self.into_std().map(OwnedFd::from)
    }
}

impl Release for UnixListener {
    fn release(self) -> io::Result<OwnedFd> {
        self.into_std().map(OwnedFd::from)
    }
}

impl Release for AsyncFd<OwnedFd> {
    fn release(self) -> io::Result<OwnedFd> {
        Ok(self.into_inner())
    }
}

/// A socket over which peers may attach descriptors. Dropping it closes it [aside](close_aside), together with the descriptors that
/// nobody has received from it.
pub struct Aside<S: Release>(Option<S>);

impl<S: Release> Aside<S> {
    /// Closes the socket aside when this is dropped.
    pub fn new(socket: S) -> Self {
        Self(Some(socket))
    }

    /// Takes the socket out of the runtime, and returns its descriptor, which nobody closes aside from then on.
    ///
    /// # Errors
    /// The errors of the system. The socket is closed then.
    pub fn release(mut self) -> io::Result<OwnedFd> {
        match self.0.take() {
            Some(socket) => socket.release(),
            None => unreachable!("only the drop takes the socket"),
        }
    }
}

impl<S: Release> Deref for Aside<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        match &self.0 {
            Some(socket) => socket,
            None => unreachable!("only the drop takes the socket"),
        }
    }
}

impl<S: Release> AsFd for Aside<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        (**self).as_fd()
    }
}

impl<S: Release> Drop for Aside<S> {
    fn drop(&mut self) {
        if let Some(Ok(descriptor)) = self.0.take().map(S::release) {
            close_aside(descriptor);
        }
    }
}

impl<S: Release + fmt::Debug> fmt::Debug for Aside<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
