//! Unix sockets, of datagrams and of streams.

mod address;
mod sender;
mod socket;
mod stream;
mod stream_datapath;

use crate::datagram::{self, DatagramConnection, DatagramListener, DatagramSocket};
use crate::options::{Options, option_methods};
use bertha_core::{Addr, Datapath, Error, ErrorKind};
use bertha_runtime::tokio::TokioRuntime;
use socket::{Remote, UnixSocket};
use std::io;
use std::path::Path;
pub use stream_datapath::{UnixStream, UnixStreamConnection, UnixStreamListener};

/// A base connection of [`Unix`]. A message is a datagram.
pub type UnixConnection = DatagramConnection<UnixSocket>;

/// The listener of [`Unix`].
pub type UnixListener = DatagramListener<UnixSocket>;

/// Unix datagram sockets as a datapath between processes of one machine.
///
/// Messages may be as large as 64 KiB. The kernel neither loses nor reorders them, and lets a sender wait for a
/// listener that is behind; but a connection of a listener drops messages beyond its [`queue`](Self::queue), so the
/// datapath is not [`reliable`](bertha_core::Properties::reliable).
///
/// An address is the path of a socket, which the listener makes, and removes when it and the last of its connections
/// are dropped; or `@` and a name, as in `unix:@store`, for a name in the abstract namespace, which leaves no file. The
/// path of a server that was killed is taken over, and that of a live one is [in use](bertha_core::ErrorKind::AddrInUse). A
/// client gets an abstract name from the kernel, so that the server can answer.
///
/// Sockets take no descriptors, since the last close of a descriptor may wait: a peer that attaches one gets `EPERM`. Linux before 6.16
/// lets it through, and drops it when the message is received.
#[derive(Debug, Clone, Default)]
pub struct Unix {
    options: Options,
    vouched: bool,
}

impl Unix {
    option_methods!();

    /// Asks the kernel for the owner of each sender (`SO_PASSCRED`): connections of a listener then have
    /// [`peer_credentials`](crate::SocketBase::peer_credentials). False by default, since it makes a message cost
    /// some 0.3 us more.
    ///
    /// A connection then receives from one address and one process alone: datagrams of another process at the
    /// same address are a connection of its own. Messages to the peer go to the process that has its address at
    /// that time.
    #[must_use]
    pub fn credentials(mut self, ask: bool) -> Self {
        self.vouched = ask;
        self
    }
}

impl Datapath for Unix {
    type Connection = UnixConnection;
    type Listener = UnixListener;

    async fn connect(&self, to: Addr) -> Result<UnixConnection, Error> {
        let path = to.unix(UnixSocket::NAME)?;
        let (socket, peer) = UnixSocket::connect(&self.options, path)
            .map_err(|error| failed(UnixSocket::NAME, Error::from(error), "connect to", path))?;
        let options = &self.options;
        Ok(datagram::connected(socket, peer.into(), Remote::connected(), options.limits, options.waiting))
    }

    async fn listen(&self, on: Addr) -> Result<UnixListener, Error> {
        let path = on.unix(UnixSocket::NAME)?;
        let socket = UnixSocket::listen(&self.options, self.vouched, path)
            .map_err(|error| not_listening(UnixSocket::NAME, error, path))?;
        Ok(datagram::listening(socket, self.options.limits, self.options.waiting))
    }

    fn runtime(&self) -> Option<TokioRuntime> {
        TokioRuntime::current()
    }
}

#[cold]
fn not_listening(datapath: &'static str, error: io::Error, path: &Path) -> Error {
    if error.kind() != io::ErrorKind::AddrInUse {
        return failed(datapath, Error::from(error), "listen on", path);
    }
    let what = format!("cannot listen on {}: another server uses it, or it is no socket", path.display());
    Error::new(ErrorKind::AddrInUse, what).at(datapath).because(error)
}

#[cold]
fn failed(datapath: &'static str, error: Error, doing: &str, path: &Path) -> Error {
    let what = format!("cannot {doing} {}: {}", path.display(), error.context());
    Error::new(error.kind(), what).at(datapath).because(error)
}
