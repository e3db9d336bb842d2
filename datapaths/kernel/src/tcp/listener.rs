//! Accepting TCP connections.

use super::{NAME, Tcp, TcpConnection};
use bertha_core::{Addr, Error, Listener, Properties};
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// How long to wait for descriptors or memory to become free.
const PAUSE: Duration = Duration::from_millis(20);

/// A listening TCP socket.
///
/// A peer that is gone before it is accepted is passed over; while the process has no file descriptor left, accepting
/// pauses.
#[derive(Debug)]
pub struct TcpListener {
    io: tokio::net::TcpListener,
    local: SocketAddr,
    options: Tcp,
}

impl TcpListener {
    pub(super) fn new(io: tokio::net::TcpListener, options: Tcp) -> io::Result<Self> {
        let local = io.local_addr()?;
        Ok(Self { io, local, options })
    }
}

impl Listener for TcpListener {
    type Connection = TcpConnection;

    async fn accept(&self) -> Result<TcpConnection, Error> {
        loop {
            let accepted = self.io.accept().await;
            let error =
                match accepted.and_then(|(stream, peer)| TcpConnection::new(stream, peer, &self.options)) {
                    Ok(connection) => return Ok(connection),
                    Err(error) => error,
                };
            match Errno::from_io_error(&error) {
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    tracing::warn!(%error, local = %self.local, "accepting pauses");
                    tokio::time::sleep(PAUSE).await;
                }
                Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::FAULT) | None => {
                    return Err(Error::from(error).at(NAME));
                }
                Some(_) => {
                    tracing::debug!(%error, local = %self.local, "a peer was gone before it was accepted")
                }
            }
        }
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }

    fn properties(&self) -> Option<Properties> {
        Some(Properties::STREAM)
    }
}
