//! A Unix datagram socket for the processes of one user.

use super::rights;
use rustix::fs::{Mode, fchmod};
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix, bind, recvmsg, sendto,
};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::Duration;

/// A socket that only the user of this process and root may write to, and that knows the user of each sender.
#[derive(Debug)]
pub(crate) struct GuardedSocket(UnixDatagram);

/// A message, and its sender.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) length: usize,
    /// The path to which the sender says it is bound. Each process has its own view of paths.
    pub(crate) path: Option<SocketAddrUnix>,
    /// The user of the sending process, for whom the kernel vouches.
    pub(crate) user: Option<u32>,
}

impl GuardedSocket {
    /// Makes a socket at this path, where nothing is yet. A call of [`recv`](Self::recv) waits for at most
    /// `patience`.
    pub(crate) fn bind(path: &Path, patience: Duration) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        rights::refuse(&socket)?;
        set_socket_passcred(&socket, true)?;
        socket.set_read_timeout(Some(patience))?;
        // Before there is a file, which then has these rights from the beginning.
        fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
        bind(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Self(socket))
    }

    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Sends a message, and never waits: a receiver that is stopped must stop nobody else.
    pub(crate) fn send(&self, message: &[u8], to: &SocketAddrUnix) -> io::Result<()> {
        sendto(&self.0, message, SendFlags::DONTWAIT, to)?;
        Ok(())
    }

    pub(crate) fn recv(&self, bytes: &mut [u8]) -> io::Result<Received> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let received =
            recvmsg(&self.0, &mut [IoSliceMut::new(bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let user = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.uid.as_raw()),
            _ => None,
        });
        let path = received.address.and_then(|address| SocketAddrUnix::try_from(address).ok());
        Ok(Received { length: received.bytes, path, user })
    }
}

impl Received {
    /// Returns true if a process of the user of this process, or of root, has sent the message.
    pub(crate) fn is_trusted(&self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        self.user.is_some_and(|user| user == own || user == 0)
    }
}

/// Returns true if no message came in time.
pub(crate) fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
