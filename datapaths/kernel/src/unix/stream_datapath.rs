//! The datapath over Unix stream sockets.

use super::stream::Acceptor;
use super::{address, failed, not_listening};
use crate::stream::{Settings, StreamConnection, StreamListener, StreamSocket, settings_methods};
use crate::within_tokio::within_tokio;
use bertha_core::{Addr, Buf, Chunk, Datapath, Error, ErrorKind, Octets};
use bertha_runtime::tokio::TokioRuntime;
use bertha_runtime::tokio::descriptors::refuse;
use rustix::net::SocketAddrUnix;
use socket2::{Domain, Type};
use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

/// The pause until a server whose backlog is full is asked again.
const PAUSE: Duration = Duration::from_millis(5);

/// How often it is asked.
const ATTEMPTS: u32 = 2_000;

/// A base connection of [`UnixStream`]: of messages, or of bytes as `UnixStreamConnection<Chunk>`.
pub type UnixStreamConnection<Data = Buf> = StreamConnection<tokio::net::UnixStream, Data>;

/// The listener of [`UnixStream`].
pub type UnixStreamListener<Data = Buf> = StreamListener<tokio::net::UnixStream, Data>;

/// Unix stream sockets as a datapath between processes of one machine: of messages, framed as [`framing`](bertha_core::framing)
/// says, or, as `UnixStream<Chunk>`, of [`bytes`](Self::bytes).
///
/// Unlike [`Unix`](crate::Unix), whose messages are datagrams, it is reliable, and messages may be longer than 64 KiB. Addresses are
/// those of [`Unix`](crate::Unix).
#[derive(Debug)]
pub struct UnixStream<Data = Buf> {
    settings: Settings,
    data: PhantomData<fn() -> Data>,
}

impl<Data> Clone for UnixStream<Data> {
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), data: PhantomData }
    }
}

impl Default for UnixStream {
    fn default() -> Self {
        Self::new()
    }
}

impl UnixStream {
    /// A datapath of messages, with the default settings of the methods below.
    pub fn new() -> Self {
        Self { settings: Settings::default(), data: PhantomData }
    }

    /// Carries plain bytes in place of messages, for peers that speak another protocol. A received [`Chunk`]
    /// has at most 64 KiB. A Chunnel for framing makes messages of the bytes.
    #[must_use]
    pub fn bytes(self) -> UnixStream<Chunk> {
        UnixStream { settings: self.settings, data: PhantomData }
    }
}

impl<Data: Octets> UnixStream<Data> {
    settings_methods!();

    fn socket(&self) -> io::Result<socket2::Socket> {
        let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
        refuse(&socket)?;
        self.settings.apply(&socket)?;
        Ok(socket)
    }

    async fn open(&self, path: &Path) -> io::Result<UnixStreamConnection<Data>> {
        within_tokio()?;
        let peer = address::from_path(path)?;
        let socket = self.socket()?;
        // A name from the kernel, so that the server can tell its clients apart.
        rustix::net::bind(&socket, &SocketAddrUnix::new_unnamed())?;
        let mut attempts = 0;
        loop {
            match rustix::net::connect(&socket, &peer) {
                Err(rustix::io::Errno::AGAIN) if attempts < ATTEMPTS => {
                    attempts += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                done => break done?,
            }
        }
        let stream = tokio::net::UnixStream::from_std(socket.into())?;
        StreamConnection::new(stream, address::to_addr(&peer), &self.settings)
    }

    fn bind(&self, path: &Path) -> io::Result<UnixStreamListener<Data>> {
        within_tokio()?;
        let socket = self.socket()?;
        let path = address::bind(&socket, path)?;
        socket.listen(self.settings.backlog())?;
        let io = tokio::net::UnixListener::from_std(socket.into())?;
        StreamListener::new(Acceptor { io, _path: path }, self.settings.clone())
    }
}

impl<Data: Octets> Datapath<Data> for UnixStream<Data> {
    type Connection = UnixStreamConnection<Data>;
    type Listener = UnixStreamListener<Data>;

    async fn connect(&self, to: Addr) -> Result<UnixStreamConnection<Data>, Error> {
        const NAME: &str = <tokio::net::UnixStream as StreamSocket>::NAME;
        let path = to.unix(NAME)?;
        self.open(path).await.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => {
                let what = format!("cannot connect to {}: its server accepts nobody", path.display());
                Error::new(ErrorKind::Unreachable, what).at(NAME).because(error)
            }
            _ => failed(NAME, Error::from(error), "connect to", path),
        })
    }

    async fn listen(&self, on: Addr) -> Result<UnixStreamListener<Data>, Error> {
        const NAME: &str = <tokio::net::UnixStream as StreamSocket>::NAME;
        let path = on.unix(NAME)?;
        self.bind(path).map_err(|error| not_listening(NAME, error, path))
    }

    fn runtime(&self) -> Option<TokioRuntime> {
        TokioRuntime::current()
    }
}
