//! TCP.

mod stream;

use crate::stream::{Settings, StreamConnection, StreamListener, settings_methods};
use crate::within_tokio::within_tokio;
use bertha_core::{Addr, Buf, Chunk, Datapath, Error, Octets};
use bertha_runtime::tokio::TokioRuntime;
use socket2::{Domain, Protocol, Type};
use std::io;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};

/// Name of the datapath in errors.
const NAME: &str = "Tcp";

/// A base connection of [`Tcp`]: of messages, or, as `TcpConnection<Chunk>`, of bytes.
pub type TcpConnection<Data = Buf> = StreamConnection<TcpStream, Data>;

/// The listener of [`Tcp`].
pub type TcpListener<Data = Buf> = StreamListener<TcpStream, Data>;

/// TCP over IPv4 and IPv6 as a datapath: of messages, framed as [`framing`](bertha_core::framing) says, or, as `Tcp<Chunk>`, of
/// [`bytes`](Self::bytes).
///
/// Messages go out at once (`TCP_NODELAY`), a burst in one call. The messages of one receiving call are handed
/// out one by one without a copy.
#[derive(Debug)]
pub struct Tcp<Data = Buf> {
    settings: Settings,
    /// True if other listeners may have the listener's address.
    is_shared: bool,
    data: PhantomData<fn() -> Data>,
}

impl<Data> Clone for Tcp<Data> {
    fn clone(&self) -> Self {
        Self { settings: self.settings.clone(), is_shared: self.is_shared, data: PhantomData }
    }
}

impl Default for Tcp {
    fn default() -> Self {
        Self::new()
    }
}

impl Tcp {
    /// Creates a datapath of messages, with the default settings of the methods below.
    pub fn new() -> Self {
        Self { settings: Settings::default(), is_shared: false, data: PhantomData }
    }

    /// Makes a datapath of bytes without the frames of [`framing`](bertha_core::framing), for peers that
    /// speak another protocol over TCP: a received [`Chunk`] is at most 64 KiB long. A Chunnel for framing
    /// makes messages of the bytes.
    #[must_use]
    pub fn bytes(self) -> Tcp<Chunk> {
        Tcp { settings: self.settings, is_shared: self.is_shared, data: PhantomData }
    }
}

impl<Data: Octets> Tcp<Data> {
    settings_methods!();

    /// The silence after which the kernel asks the peer whether it is still there (`SO_KEEPALIVE`), five minutes by default; `None` if it never asks. A
    /// peer that has not answered after as long again is gone, and the connection ends with
    /// [`TimedOut`](bertha_core::ErrorKind::TimedOut). Whole seconds count.
    #[must_use]
    pub fn keep_alive(mut self, silence: Option<Duration>) -> Self {
        self.settings.keep_alive = silence;
        self
    }

    /// Lets several listeners of one user have the same address (`SO_REUSEPORT`), if all of them ask for it: the kernel spreads
    /// connections among them, one listener for each thread, say.
    #[must_use]
    pub fn reuse_port(self) -> Self {
        Self { is_shared: true, ..self }
    }

    fn socket(&self, addr: SocketAddr) -> io::Result<socket2::Socket> {
        let socket =
            socket2::Socket::new(Domain::for_address(addr), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
        self.settings.apply(&socket)?;
        Ok(socket)
    }

    async fn open(&self, peer: SocketAddr) -> io::Result<TcpConnection<Data>> {
        within_tokio()?;
        let socket = TcpSocket::from_std_stream(self.socket(peer)?.into());
        TcpConnection::new(socket.connect(peer).await?, peer.into(), &self.settings)
    }

    fn bind(&self, on: SocketAddr) -> io::Result<TcpListener<Data>> {
        within_tokio()?;
        let socket = self.socket(on)?;
        // Without the option, a restarted server can't listen until its old connections have timed out.
        socket.set_reuse_address(true)?;
        if self.is_shared {
            socket.set_reuse_port(true)?;
        }
        socket.bind(&on.into())?;
        socket.listen(self.settings.backlog())?;
        TcpListener::new(tokio::net::TcpListener::from_std(socket.into())?, self.settings.clone())
    }
}

impl<Data: Octets> Datapath<Data> for Tcp<Data> {
    type Connection = TcpConnection<Data>;
    type Listener = TcpListener<Data>;

    async fn connect(&self, to: Addr) -> Result<TcpConnection<Data>, Error> {
        let peer = to.ip(NAME)?;
        self.open(peer).await.map_err(|error| failed(error, "connect to", peer))
    }

    async fn listen(&self, on: Addr) -> Result<TcpListener<Data>, Error> {
        let addr = on.ip(NAME)?;
        self.bind(addr).map_err(|error| failed(error, "listen on", addr))
    }

    fn runtime(&self) -> Option<TokioRuntime> {
        TokioRuntime::current()
    }
}

#[cold]
fn failed(error: io::Error, doing: &str, addr: SocketAddr) -> Error {
    let error = Error::from(error);
    Error::new(error.kind(), format!("cannot {doing} {addr}: {}", error.context())).at(NAME).because(error)
}
