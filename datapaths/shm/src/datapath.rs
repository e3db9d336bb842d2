//! The datapath.

use crate::address::{self, NAME};
use crate::connection::ShmConnection;
use crate::listener::ShmListener;
use crate::sharing::Settings;
use crate::{Users, Waiting};
use bertha_core::{Addr, Datapath, Error};
use bertha_runtime::tokio::descriptors::{Aside, refuse};
use bertha_runtime::tokio::{SocketFile, TokioRuntime};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener as StdListener;
use std::os::unix::net::UnixStream as StdStream;
use std::path::Path;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};

/// Time until a server whose backlog is full is tried again.
const PAUSE: Duration = Duration::from_millis(5);

/// Number of attempts.
const ATTEMPTS: u32 = 1_000;

/// Number of connections of a listener that may wait in the kernel to be accepted.
const BACKLOG: i32 = 1024;

/// Memory that two processes of a machine share, as a datapath.
///
/// An address is the path of a Unix socket, which the listener makes, and removes when it is dropped; or `@` and a name, as in
/// `unix:@store`, for a name in the abstract namespace, which leaves no file. The path of a server that was killed is taken over, and that
/// of a live one is [in use](bertha_core::ErrorKind::AddrInUse). The rights of the socket's folder say who may connect,
/// and [`users`](Self::users) with whom memory is shared. Paths work across network namespaces, abstract names do not.
///
/// Connections are reliable and ordered. A message may occupy an eighth of a ring, which is 64 KiB with the
/// default size.
///
/// ```no_run
/// # use bertha_core::{Connection, Datapath};
/// # use bertha_datapath_shm::Shm;
/// # async fn ask() -> Result<(), bertha_core::Error> {
/// let connection = Shm::new().connect("unix:/run/store/shm.sock".parse()?).await?;
/// connection.send(bertha_core::Buf::copy_of(b"hello", 0)?).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Shm {
    settings: Settings,
}

impl Default for Shm {
    fn default() -> Self {
        Self::new()
    }
}

impl Shm {
    /// Creates a datapath with the default settings of the methods below.
    pub fn new() -> Self {
        let settings =
            Settings { waiting: Waiting::Park, users: Users::Same, ring: 512 << 10, largest_ring: None };
        Self { settings }
    }

    /// Sets the policy by which receivers wait, and senders wait for room: [`Park`](Waiting::Park) by
    /// default.
    #[must_use]
    pub fn waiting(mut self, waiting: Waiting) -> Self {
        self.settings.waiting = waiting;
        self
    }

    /// Sets the users whose processes may be peers: [`Users::Same`] by default.
    #[must_use]
    pub fn users(mut self, users: Users) -> Self {
        self.settings.users = users;
        self
    }

    /// Returns true if memory is shared with this user.
    pub fn shares_with(&self, user: u32) -> bool {
        self.settings.users.contain(user)
    }

    /// The bytes of the ring for each direction of a connection that this end opens: a power of two from 4 KiB to 64 MiB,
    /// 512 KiB by default. A message may have an eighth of it, less eight bytes. A server that takes [smaller rings](Self::largest_ring)
    /// only gets those.
    #[must_use]
    pub fn ring(mut self, bytes: usize) -> Self {
        self.settings.ring = bytes;
        self
    }

    /// The bytes of the largest ring for each direction that this end takes from a client, four times the own [ring](Self::ring) by default;
    /// rounded down to a power of two from 4 KiB to 64 MiB. Each connection takes up to twice as much memory of this end. A client that
    /// offers more is told, and offers rings of this size.
    #[must_use]
    pub fn largest_ring(mut self, bytes: usize) -> Self {
        self.settings.largest_ring = Some(bytes);
        self
    }

    /// Opens a connection to the process at the other end of a connected Unix socket, which [takes](Self::take) it: for processes that
    /// have found each other in another way, for example by a directory.
    ///
    /// # Errors
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if an end doesn't share memory with the
    /// other end's user, [`TimedOut`](bertha_core::ErrorKind::TimedOut) if the peer does not answer, and
    /// [`Refused`](bertha_core::ErrorKind::Refused) if the peer does not accept such memory.
    pub async fn offer(&self, socket: StdStream) -> Result<ShmConnection, Error> {
        self.settings.offer(registered(socket)?, Addr::Unnamed).await
    }

    /// Takes the connection that the peer process of a connected Unix socket [offers](Self::offer).
    ///
    /// # Errors
    /// Errors of [`offer`](Self::offer).
    pub async fn take(&self, socket: StdStream) -> Result<ShmConnection, Error> {
        self.settings.take(Aside::new(registered(socket)?)).await
    }
}

fn registered(socket: StdStream) -> io::Result<UnixStream> {
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}

fn new_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

async fn connected(path: &Path) -> io::Result<UnixStream> {
    let peer = address::from_path(path)?;
    let socket = new_socket()?;
    refuse(&socket)?;
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
    UnixStream::from_std(StdStream::from(socket))
}

fn bound(path: &Path) -> io::Result<(UnixListener, Option<SocketFile>)> {
    let socket = new_socket()?;
    let file = match address::is_abstract(path) {
        true => rustix::net::bind(&socket, &address::from_path(path)?).map(|()| None)?,
        false => Some(SocketFile::bind(&socket, path)?),
    };
    rustix::net::listen(&socket, BACKLOG)?;
    Ok((UnixListener::from_std(StdListener::from(socket))?, file))
}

impl Datapath for Shm {
    type Connection = ShmConnection;
    type Listener = ShmListener;

    async fn connect(&self, to: Addr) -> Result<ShmConnection, Error> {
        let path = to.unix(NAME)?;
        let socket = connected(path).await.map_err(|error| address::failed(error, "connect to", path))?;
        self.settings.offer(socket, to).await
    }

    async fn listen(&self, on: Addr) -> Result<ShmListener, Error> {
        let path = on.unix(NAME)?;
        let (socket, file) = bound(path).map_err(|error| address::failed(error, "listen on", path))?;
        Ok(ShmListener::new(socket, file, self.settings.clone())?)
    }

    fn runtime(&self) -> Option<TokioRuntime> {
        TokioRuntime::current()
    }
}
