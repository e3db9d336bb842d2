//! The server of a directory.

use super::entries::{Entries, Entry, Rules};
use super::packets::{Packet, Packets, new_socket};
use super::protocol::{Key, Refusal, Reply, Request, Token, decode, encode};
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::Credentials;
use parking_lot::Mutex;
use rustix::fs::{Mode, chmod};
use rustix::net::SocketAddrUnix;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;

/// Connections at once, of all users together. More wait in the kernel.
const CONNECTIONS: usize = 16 << 10;

/// How long to wait for descriptors to become free.
const PAUSE: Duration = Duration::from_millis(20);

/// A directory that listens. Its socket's file is removed when this is dropped.
#[derive(Debug)]
pub struct DirectoryServer {
    socket: UnixListener,
    state: Arc<Mutex<State>>,
    path: PathBuf,
}

#[derive(Debug)]
struct State {
    entries: Entries,
    services: HashMap<u64, Arc<Packets>>,
}

impl DirectoryServer {
    /// Listens at `path`, for everybody whom the rights of its folder let there. The file of a directory that has died is
    /// replaced.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if a directory answers there; those of the system.
    pub fn listen(path: impl Into<PathBuf>, rules: Rules) -> Result<Self, Error> {
        let path = path.into();
        let socket = bound(&path).map_err(|error| {
            let what = format!("no directory can listen at {}: {error}", path.display());
            Error::new(Error::from(error).kind(), what)
        })?;
        let entries = Entries::new(rules);
        let state = Arc::new(Mutex::new(State { entries, services: HashMap::new() }));
        Ok(Self { socket: UnixListener::from_std(socket.into())?, state, path })
    }

    /// Serves, until the future is dropped or the socket fails.
    ///
    /// # Errors
    /// Those of the system that no client can cause.
    pub async fn serve(&self) -> Result<(), Error> {
        let mut clients = JoinSet::new();
        for number in 0.. {
            while clients.try_join_next().is_some() || clients.len() >= CONNECTIONS {
                if clients.len() >= CONNECTIONS {
                    clients.join_next().await;
                }
            }
            match self.socket.accept().await {
                Ok((socket, _)) => {
                    let state = self.state.clone();
                    clients.spawn(async move {
                        if let Err(error) = serve_one(socket, number, &state).await {
                            tracing::debug!(%error, "a client of the directory has gone");
                        }
                        let mut state = state.lock();
                        state.entries.remove(number);
                        state.services.remove(&number);
                    });
                }
                Err(error) => match rustix::io::Errno::from_io_error(&error) {
                    Some(rustix::io::Errno::CONNABORTED) => {}
                    Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE | rustix::io::Errno::NOMEM) => {
                        tracing::warn!(%error, "accepting pauses");
                        tokio::time::sleep(PAUSE).await;
                    }
                    _ => return Err(error.into()),
                },
            }
        }
        Ok(())
    }
}

impl Drop for DirectoryServer {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, path = %self.path.display(), "socket file not removed");
        }
    }
}

fn bound(path: &Path) -> io::Result<OwnedFd> {
    let (socket, address) = (new_socket()?, SocketAddrUnix::new(path)?);
    match rustix::net::bind(&socket, &address) {
        Err(rustix::io::Errno::ADDRINUSE) if Packets::connect(path).is_err_and(is_refused) => {
            // Nobody listens there any more.
            std::fs::remove_file(path)?;
            rustix::net::bind(&socket, &address)?;
        }
        done => done?,
    }
    // The folder's rights decide which users come here, and not the process's mask.
    chmod(path, Mode::from_raw_mode(0o666))?;
    rustix::net::listen(&socket, 1024)?;
    Ok(socket)
}

fn is_refused(error: io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

async fn serve_one(socket: UnixStream, number: u64, state: &Mutex<State>) -> Result<(), Error> {
    let socket = Arc::new(Packets::new(socket));
    let user = Credentials::of_peer(&*socket)?.user;
    while let Some(Packet { bytes, file }) = socket.recv().await? {
        let Some(request) = decode(&bytes) else {
            return Err(Error::new(ErrorKind::Malformed, "a packet that is no request"));
        };
        let reply = answer(request, file, number, user, state, &socket);
        socket.send(&encode(&reply), None).await?;
    }
    Ok(())
}

fn answer(
    request: Request,
    file: Option<OwnedFd>,
    number: u64,
    user: u32,
    state: &Mutex<State>,
    socket: &Arc<Packets>,
) -> Reply {
    match request {
        Request::Register { name, addresses } => {
            let mut state = state.lock();
            match state.entries.register(number, Entry { name, user, addresses }) {
                Ok(()) => {
                    state.services.insert(number, socket.clone());
                    Reply::Registered
                }
                Err((kind, reason)) => Reply::Refused { kind, reason },
            }
        }
        Request::Lookup(key) => match state.lock().entries.find(&key) {
            Some((_, Entry { name, user, addresses })) => {
                Reply::Found { name: name.clone(), user: *user, addresses: addresses.clone() }
            }
            None => Reply::Unknown,
        },
        Request::Visit { service, token } => match file {
            Some(file) => visit(&service, token, &file, state),
            None => Reply::Refused { kind: Refusal::TooMuch, reason: "a visit without a socket".into() },
        },
    }
}

/// Hands the client's socket on. A service that does not take its visitors has none: nothing waits for it here.
fn visit(service: &Key, token: Token, file: &OwnedFd, state: &Mutex<State>) -> Reply {
    let found = {
        let state = state.lock();
        let found = state.entries.find(service);
        found.and_then(|(number, entry)| Some((state.services.get(&number)?.clone(), entry.user)))
    };
    let Some((found, user)) = found else { return Reply::Unknown };
    match found.try_send(&encode(&Reply::Visitor { token }), Some(file.as_fd())) {
        Ok(()) => Reply::Visiting { user },
        Err(error) => {
            tracing::debug!(%error, %service, "a service takes no visitor");
            Reply::Unknown
        }
    }
}
