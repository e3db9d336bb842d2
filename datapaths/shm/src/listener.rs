//! Accepting connections.

use crate::ShmConnection;
use crate::address::{self, NAME, SocketFile};
use crate::sharing::Settings;
use bertha_core::{Addr, Error, ErrorKind, Listener, Properties, Runtime};
use bertha_runtime_tokio::{Task, TokioRuntime};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

/// How long to wait for descriptors or memory to become free.
const PAUSE: Duration = Duration::from_millis(20);

/// Connections that hand their memory over or wait to be accepted, at most. Further clients wait in the kernel.
const WAITING: usize = 256;

/// The listener of [`Shm`](crate::Shm).
///
/// A task takes the clients' memory, several at a time, so that a client that says nothing holds nobody up; those that offer nothing
/// proper are turned away, and logged.
pub struct ShmListener {
    accepted: Mutex<mpsc::Receiver<ShmConnection>>,
    local: Addr,
    _task: Task,
    _file: Option<SocketFile>,
}

impl ShmListener {
    pub(crate) fn new(
        socket: UnixListener,
        file: Option<SocketFile>,
        settings: Settings,
    ) -> io::Result<Self> {
        let local = address::of(&socket)?;
        let (sender, accepted) = mpsc::channel(WAITING);
        let task = TokioRuntime.spawn(accept_all(socket, settings, sender));
        Ok(Self { accepted: Mutex::new(accepted), local, _task: task, _file: file })
    }
}

async fn accept_all(socket: UnixListener, settings: Settings, accepted: mpsc::Sender<ShmConnection>) {
    let (settings, mut handshakes) = (Arc::new(settings), JoinSet::new());
    // Each has its place in the queue before it begins.
    while let Ok(place) = accepted.clone().reserve_owned().await {
        while handshakes.try_join_next().is_some() {}
        match socket.accept().await {
            Ok((stream, _)) => {
                let settings = settings.clone();
                handshakes.spawn(async move {
                    match settings.take(stream).await {
                        Ok(connection) => drop(place.send(connection)),
                        Err(error) => tracing::debug!(%error, "a client was turned away"),
                    }
                });
            }
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    tracing::warn!(%error, "accepting pauses");
                    tokio::time::sleep(PAUSE).await;
                }
                Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::FAULT) | None => {
                    tracing::error!(%error, "accepting ends");
                    return;
                }
                Some(_) => tracing::debug!(%error, "a peer was gone before it was accepted"),
            },
        }
    }
}

impl Listener for ShmListener {
    type Connection = ShmConnection;

    async fn accept(&self) -> Result<ShmConnection, Error> {
        let accepted = self.accepted.lock().await.recv().await;
        accepted.ok_or_else(|| Error::new(ErrorKind::Closed, "the listening socket can't go on").at(NAME))
    }

    fn local_addr(&self) -> Addr {
        self.local.clone()
    }

    fn properties(&self) -> Option<Properties> {
        Some(Properties::STREAM)
    }
}

impl fmt::Debug for ShmListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShmListener").field("local", &self.local).finish_non_exhaustive()
    }
}
