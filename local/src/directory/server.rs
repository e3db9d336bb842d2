//! The server of a directory.

use super::counts::{DirectoryStatistics, Lack};
use super::packets::{Packets, new_socket};
use super::protocol::{Refusal, Reply, encode};
use super::requests::Client;
use super::rules::Rules;
use super::state::DirectoryState;
use super::unread::Unread;
use bertha_core::Error;
use bertha_core::log_pause::LogPause;
use bertha_datapath_shm::Credentials;
use bertha_runtime::tokio::SocketFile;
use bertha_runtime::tokio::descriptors::{Aside, raise_limit};
use parking_lot::Mutex;
use rustix::fs::{Mode, chmod};
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

/// Connections at once, of all users together, at most.
const CONNECTIONS: usize = 16 << 10;

/// Descriptors for everything that is no connection: those of the process, and those that come with packets.
const OTHERS: usize = 24;

/// Time until a connection that makes room is closed.
const PAUSE: Duration = Duration::from_millis(20);

/// The time between two lines of the log about clients that find no room.
const TOLD: Duration = Duration::from_secs(10);

/// The reason for which a client is turned away.
const ALL_TAKEN: &str =
    "services have all connections that the directory has; its limit of descriptors may be too low";

/// A directory that listens. Its socket's file is removed when this is dropped.
#[derive(Debug)]
pub struct DirectoryServer {
    socket: Aside<UnixListener>,
    state: Arc<Mutex<DirectoryState>>,
    most: usize,
    _file: SocketFile,
}

impl DirectoryServer {
    /// Listens at `path`, for everybody whom the rights of its folder let there. The file of a directory that has died is
    /// replaced. The limit of descriptors of this process is raised as far as it may be.
    ///
    /// # Errors
    /// [`AddrInUse`](bertha_core::ErrorKind::AddrInUse) if a directory answers there; those of the system.
    pub fn listen(path: impl Into<PathBuf>, rules: Rules) -> Result<Self, Error> {
        let path = path.into();
        let (socket, file) = bound(&path).map_err(|error| {
            let what = format!("no directory can listen at {}: {error}", path.display());
            Error::new(Error::from(error).kind(), what)
        })?;
        let descriptors = usize::try_from(raise_limit()).unwrap_or(usize::MAX);
        let others = OTHERS + Unread::most(descriptors);
        let most = descriptors.saturating_sub(others).clamp(1, CONNECTIONS);
        let state = DirectoryState::new(rules, most, descriptors);
        let socket = Aside::new(UnixListener::from_std(socket.into())?);
        Ok(Self { socket, state: Arc::new(Mutex::new(state)), most, _file: file })
    }

    /// Serves, until the future is dropped or the socket fails.
    ///
    /// A user has at most 64 connections that have registered nothing; a further one ends the oldest. A user
    /// other than root has at most 1,024 services, and at most a third of the places for services that are free: there
    /// is a place for each connection that the descriptors allow, less an eighth that is left to root and to
    /// clients without services. Where connections or descriptors run out, the oldest of the user with the most makes
    /// room, and if all have registered something, the newcomer is told so and turned away.
    ///
    /// # Errors
    /// Errors of the system that no client can cause.
    pub async fn serve(&self) -> Result<(), Error> {
        let mut clients = JoinSet::new();
        let mut accepting = Accepting::default();
        for number in 0.. {
            while clients.try_join_next().is_some() {}
            match self.socket.accept().await {
                Ok((socket, _)) => self.admit(socket, number, &mut clients),
                Err(error) => match Errno::from_io_error(&error) {
                    Some(Errno::CONNABORTED) => {}
                    Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS) => {
                        accepting.tell(&error);
                        if !self.make_room() {
                            let refuse = |client: &Packets| {
                                let user = Credentials::of_peer(client).map_or(u32::MAX, |peer| peer.user);
                                self.turned_away(client, user);
                            };
                            accepting.turn_away(&self.socket, refuse).await;
                        }
                        tokio::time::sleep(PAUSE).await;
                    }
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(())
    }

    fn admit(&self, socket: UnixStream, number: u64, clients: &mut JoinSet<()>) {
        let socket = Arc::new(Packets::new(socket));
        // A client that has gone is none.
        let Ok(Credentials { user, .. }) = Credentials::of_peer(&*socket) else { return };
        if clients.len() >= self.most && !self.make_room() {
            self.turned_away(&socket, user);
            return;
        }
        let client = VisitorPlace { client: Client { number, user, socket }, state: self.state.clone() };
        // Under the lock, so that the task does not end before it is known.
        let mut state = self.state.lock();
        let task = clients.spawn(async move {
            if let Err(error) = client.client.serve(&client.state).await {
                tracing::debug!(%error, user, "a client of the directory has gone");
            }
        });
        state.tasks.insert(number, task);
        if let Some(leaves) = state.places.enter(number, user) {
            state.end(leaves);
        }
    }

    /// Returns the numbers of clients and services, and what was refused so far.
    pub fn statistics(&self) -> DirectoryStatistics {
        self.state.lock().statistics()
    }

    /// Tells a client, the log and the statistics that there is no place for the client.
    fn turned_away(&self, socket: &Packets, user: u32) {
        let refusal = Reply::Refused { kind: Refusal::Full, reason: ALL_TAKEN.into() };
        // A client that has gone needs no answer.
        let _ = socket.try_send(&encode(&refusal), &[]);
        self.state.lock().counts.lack(Lack::Client, user, ALL_TAKEN);
    }

    /// Ends a connection, if one may be ended.
    fn make_room(&self) -> bool {
        let mut state = self.state.lock();
        let leaves = state.places.make_room();
        leaves.is_some_and(|leaves| state.end(leaves))
    }
}

/// A client's place in the directory, which it leaves however it ends.
struct VisitorPlace {
    client: Client,
    state: Arc<Mutex<DirectoryState>>,
}

impl Drop for VisitorPlace {
    fn drop(&mut self) {
        let Client { number, user, .. } = self.client;
        let mut state = self.state.lock();
        state.entries.remove(number);
        if let Some(service) = state.services.remove(&number) {
            // The socket stays open while the service has not read everything, and the service learns the end now.
            let _ = shutdown(&*service, Shutdown::Both);
        }
        state.places.leave(number, user);
        state.tasks.remove(&number);
    }
}

/// The means to accept while descriptors have run out.
struct Accepting {
    /// A descriptor that is given up to accept a client which is turned away.
    spare: Option<File>,
    pause: LogPause,
}

impl Default for Accepting {
    fn default() -> Self {
        Self { spare: spare(), pause: LogPause::new(TOLD) }
    }
}

fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}

impl Accepting {
    fn tell(&mut self, error: &io::Error) {
        if self.pause.is_over(Some(Instant::now())) {
            tracing::warn!(%error, "there is no room for a client, so the user with the most clients loses one");
        }
    }

    /// Takes a client in that has no place, and hands it to `refuse`.
    async fn turn_away(&mut self, socket: &UnixListener, refuse: impl FnOnce(&Packets)) {
        self.spare = None;
        // It waits already, since accepting it has failed.
        if let Ok(Ok((client, _))) = tokio::time::timeout(PAUSE, socket.accept()).await {
            refuse(&Packets::new(client));
        }
        self.spare = spare();
    }
}

fn bound(path: &Path) -> io::Result<(OwnedFd, SocketFile)> {
    let socket = new_socket()?;
    let file = SocketFile::bind(&socket, path)?;
    // The folder's rights decide which users come here, and not the process's mask.
    chmod(path, Mode::from_raw_mode(0o666))?;
    rustix::net::listen(&socket, 1024)?;
    Ok((socket, file))
}
