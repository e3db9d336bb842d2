//! Accepting connections.

use crate::ShmConnection;
use crate::address::{self, NAME};
use crate::sharing::Settings;
use bertha_core::{Addr, Error, ErrorKind, Listener, Properties, Runtime};
use bertha_runtime::tokio::descriptors::{Aside, raise_limit};
use bertha_runtime::tokio::{SocketFile, Task, TokioRuntime};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex, mpsc};
use tokio::task::{AbortHandle, JoinSet};

/// How long to wait for descriptors or memory to become free.
const PAUSE: Duration = Duration::from_millis(20);

/// The time between two lines of the log about descriptors that run out.
const TOLD: Duration = Duration::from_secs(10);

/// Connections that hand their memory over or wait to be accepted, at most. Further clients wait in the kernel while all wait to be
/// accepted.
const WAITING: usize = 256;

/// The listener of [`Shm`](crate::Shm).
///
/// A task takes the clients' memory, several at a time. A client has a second to offer it, and the one that has had the most time makes
/// room for a new one, so that clients that say nothing hold nobody up; those that offer nothing proper are turned away, and logged.
/// Processes of users with whom no memory is shared are turned away before anything of theirs is read.
///
/// The first listener raises the limit of descriptors of this process as far as it may be raised.
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
        raise_limit();
        let (sender, accepted) = mpsc::channel(WAITING);
        let accepting = Accepting {
            settings: Arc::new(settings),
            tasks: JoinSet::new(),
            unfinished: VecDeque::new(),
            accepted: sender,
            told: None,
        };
        let task = TokioRuntime.spawn(accepting.run(Aside::new(socket)));
        Ok(Self { accepted: Mutex::new(accepted), local, _task: task, _file: file })
    }
}

/// The task of a listener.
struct Accepting {
    settings: Arc<Settings>,
    tasks: JoinSet<()>,
    /// Clients that hand their memory over, and some that have done so. The oldest client is the first.
    unfinished: VecDeque<AbortHandle>,
    accepted: mpsc::Sender<ShmConnection>,
    told: Option<Instant>,
}

impl Accepting {
    async fn run(mut self, socket: Aside<UnixListener>) {
        loop {
            while self.tasks.try_join_next().is_some() {}
            match socket.accept().await {
                Ok((stream, _)) => {
                    if !self.begin(Aside::new(stream)).await {
                        return;
                    }
                }
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                        self.tell(&error);
                        self.end_oldest();
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

    /// Lets a client hand its memory over. False if nobody accepts any more.
    async fn begin(&mut self, stream: Aside<UnixStream>) -> bool {
        if let Err(error) = self.settings.admit(&stream) {
            tracing::debug!(%error, "a client was turned away");
            return true;
        }
        // Each has its place in the queue before it begins.
        let place = match self.accepted.clone().try_reserve_owned() {
            Ok(place) => place,
            Err(TrySendError::Closed(_)) => return false,
            Err(TrySendError::Full(accepted)) => {
                self.end_oldest();
                match accepted.reserve_owned().await {
                    Ok(place) => place,
                    Err(_) => return false,
                }
            }
        };
        let settings = self.settings.clone();
        let task = self.tasks.spawn(async move {
            match settings.take(stream).await {
                Ok(connection) => drop(place.send(connection)),
                Err(error) => tracing::debug!(%error, "a client was turned away"),
            }
        });
        if self.unfinished.len() >= 2 * WAITING {
            self.unfinished.retain(|task| !task.is_finished());
        }
        self.unfinished.push_back(task);
        true
    }

    /// Ends the client that has had the most time to offer memory, if there is one.
    fn end_oldest(&mut self) {
        while let Some(task) = self.unfinished.pop_front() {
            if !task.is_finished() {
                task.abort();
                return;
            }
        }
    }

    fn tell(&mut self, error: &io::Error) {
        if self.told.is_none_or(|told| told.elapsed() >= TOLD) {
            tracing::warn!(%error, "accepting pauses");
            self.told = Some(Instant::now());
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

bertha_core::debug_fields!(ShmListener { local });
