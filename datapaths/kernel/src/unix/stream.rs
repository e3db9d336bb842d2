//! A Unix stream socket as a stream socket.

use super::address;
use crate::Credentials;
use crate::stream::StreamSocket;
use bertha_core::Addr;
use bertha_runtime::tokio::SocketFile;
use rustix::net::SocketAddrUnix;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use tokio::net::{UnixListener, UnixStream};

/// The socket that accepts, and the file to remove with it.
#[derive(Debug)]
pub struct Acceptor {
    pub(super) io: UnixListener,
    pub(super) _path: Option<SocketFile>,
}

impl AsFd for Acceptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}

impl StreamSocket for UnixStream {
    const NAME: &'static str = "UnixStream";

    type Acceptor = Acceptor;

    fn local_addr(&self) -> io::Result<Addr> {
        Ok(address::to_addr(&SocketAddrUnix::try_from(rustix::net::getsockname(self)?)?))
    }

    fn peer_credentials(&self) -> io::Result<Option<Credentials>> {
        Ok(Some(Credentials::of_peer(self).map_err(io::Error::other)?))
    }

    async fn accept(acceptor: &Acceptor) -> io::Result<(Self, Addr)> {
        let (stream, _) = acceptor.io.accept().await?;
        // Of a name in the abstract namespace, tokio's address tells only that it is one.
        let peer =
            SocketAddrUnix::try_from(rustix::net::getpeername(&stream)?.ok_or(rustix::io::Errno::NOTCONN)?)?;
        Ok((stream, address::to_addr(&peer)))
    }

    fn listens_at(acceptor: &Acceptor) -> io::Result<Addr> {
        Ok(address::to_addr(&SocketAddrUnix::try_from(rustix::net::getsockname(&acceptor.io)?)?))
    }
}
