//! A Unix socket of packets (`SOCK_SEQPACKET`), which descriptors may come with.

use super::protocol::LONGEST;
use bertha_runtime::tokio::descriptors::{self, Aside, Attached};
use rustix::net::sockopt::set_socket_send_buffer_size;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags,
    SocketType, sendmsg, socket_with,
};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use tokio::io::Interest;
use tokio::net::UnixStream;

/// The descriptors that are sent with a packet at most: the sockets of a service.
const MOST: usize = 16;

/// The length to which packets for services are filled up. With it the kernel counts each as more than the quarter of the smallest
/// send buffer below which a socket is writable, so a socket is writable exactly if nothing is unread.
const FILLED: usize = 704;

const FLAGS: SocketFlags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);

/// A connected socket on the current tokio runtime, which takes it for a Unix socket like any other.
#[derive(Debug)]
pub(crate) struct Packets {
    io: Aside<UnixStream>,
}

/// A packet that came in.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) bytes: Vec<u8>,
    pub(crate) files: Attached,
}

impl Packets {
    pub(crate) fn new(io: UnixStream) -> Self {
        Self { io: Aside::new(io) }
    }

    /// A connection to the socket at `path`, over which nothing comes with packets.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let socket = new_socket()?;
        descriptors::refuse(&socket)?;
        Self::connected(socket, path)
    }

    /// A connection to the socket at `path`, over which visitors come.
    pub(crate) fn connect_for_visitors(path: &Path) -> io::Result<Self> {
        Self::connected(new_socket()?, path)
    }

    fn connected(socket: OwnedFd, path: &Path) -> io::Result<Self> {
        rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
        Ok(Self::new(UnixStream::from_std(socket.into())?))
    }

    /// Sends a packet, once there is room. Cancellation-safe: it is sent whole or not at all.
    pub(crate) async fn send(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.io.async_io(Interest::WRITABLE, || send(&self.io, bytes, files)).await
    }

    /// Sends a packet if there is room.
    pub(crate) fn try_send(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        send(&self.io, bytes, files)
    }

    /// Lets few packets of [a service](Self::send_to_service) wait unread: the smallest send buffer of the system.
    pub(super) fn limit_unread(&self) -> io::Result<()> {
        Ok(set_socket_send_buffer_size(&self.io, 0)?)
    }

    /// Sends a packet to a service, once there is room among its few unread packets. Cancellation-safe, as [`send`](Self::send).
    pub(super) async fn send_to_service(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.send(&filled(bytes), files).await
    }

    /// Sends a packet, and waits for the answer. None when the peer is gone.
    ///
    /// A peer that turns this end away answers before it is asked, and is gone then.
    pub(crate) async fn ask(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<Option<Packet>> {
        let sent = self.send(bytes, files).await;
        let received = match self.recv().await {
            // What the peer has not read is told first, and then what it has sent.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => self.recv().await,
            received => received,
        };
        match (sent, received) {
            (_, Ok(Some(packet))) => Ok(Some(packet)),
            (Err(error), _) => Err(error),
            (Ok(()), received) => received,
        }
    }

    /// Waits for a packet. Cancellation-safe. None when the peer is gone.
    pub(crate) async fn recv(&self) -> io::Result<Option<Packet>> {
        self.io.async_io(Interest::READABLE, || receive(&self.io)).await
    }
}

impl AsFd for Packets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

/// A socket that is not connected.
pub(crate) fn new_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?)
}

/// Two sockets of bytes that are connected to each other, for a client and a service.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, FLAGS, None)?)
}

fn send(socket: &UnixStream, bytes: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)?;
    Ok(())
}

/// The bytes and zeros behind them, which their reader ignores.
pub(super) fn filled(bytes: &[u8]) -> Vec<u8> {
    let mut filled = bytes.to_vec();
    filled.resize(bytes.len().max(FILLED), 0);
    filled
}

/// Two sockets of packets that are connected to each other.
#[cfg(test)]
pub(super) fn packet_pair() -> io::Result<(Packets, UnixStream)> {
    let (own, other) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, FLAGS, None)?;
    Ok((Packets::new(UnixStream::from_std(own.into())?), UnixStream::from_std(other.into())?))
}

fn receive(socket: &UnixStream) -> io::Result<Option<Packet>> {
    let mut bytes = vec![0; LONGEST];
    let (read, files) = descriptors::receive(socket, &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    bytes.truncate(read);
    Ok(Some(Packet { bytes, files }))
}
