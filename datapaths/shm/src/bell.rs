//! The Unix socket between the ends, once it has passed the memory on.

use crate::reading::for_reading;
use bertha_runtime::tokio::descriptors::{Aside, receive};
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixStream;

/// A bell that wakes the peer by a byte, and notices the peer's bytes and its death.
#[derive(Debug)]
pub(crate) struct Bell {
    socket: Aside<AsyncFd<OwnedFd>>,
    /// True if the other end is gone, or this end has hung up.
    is_over: AtomicBool,
}

impl Bell {
    /// Makes a bell of a socket over which nothing but wake-ups comes from now on.
    pub(crate) fn new(socket: Aside<UnixStream>) -> io::Result<Self> {
        // This end never waits for room to write, so that the peer does not wake it when it takes a byte.
        Ok(Self { socket: for_reading(socket.release()?)?, is_over: AtomicBool::new(false) })
    }

    /// Wakes the peer. The call never waits: if the socket is full, a byte is on its way.
    #[cold]
    pub(crate) fn ring(&self) {
        if let Err(error) = send(&self.socket, &[0], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            tracing::trace!(%error, "the other end is not woken");
        }
    }

    /// Takes the bytes that have come, as far as the reactor knows of them. Returns true if the connection is
    /// over. Without bytes, the call costs a load of an atomic.
    #[inline]
    pub(crate) fn listen(&self) -> bool {
        // A short read empties the socket, and the reactor is re-armed at once; a byte that comes in between
        // is reported anew.
        let heard = self.socket.try_io(Interest::READABLE, |socket| {
            let mut bytes = [0; 64];
            let room = bytes.len();
            // A system without SO_PASSRIGHTS lets the other end attach descriptors.
            match receive(socket, &mut bytes).map(|(read, _)| read)? {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                read if read < room => Err(io::ErrorKind::WouldBlock.into()),
                _ => Ok(()),
            }
        });
        match heard {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The error may be a reset: the peer died with a byte unread.
            Err(_) => self.is_over.store(true, Ordering::Relaxed),
        }
        self.is_over()
    }

    /// Returns true if the end of the connection was noticed already.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Waits until there is something to [`listen`](Self::listen) to. After its first poll, the future
    /// completes with any byte, whichever task takes the byte.
    pub(crate) async fn heard(&self) {
        // The error means the end of the runtime.
        if self.socket.readable().await.is_err() {
            self.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// Shuts the socket down in both directions, which wakes every waiting task at either end.
    pub(crate) fn hang_up(&self) {
        if let Err(error) = shutdown(&self.socket, Shutdown::Both) {
            tracing::trace!(%error, "the other end was faster");
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        // Now, since the thread that closes the socket may be busy.
        self.hang_up();
    }
}
