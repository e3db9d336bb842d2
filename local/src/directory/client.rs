//! The client of a directory.

use super::packets::{Packets, pair};
use super::protocol::{Key, Reply, Request, Token, decode, encode};
use super::registration::{self, Registration};
use super::visitors::Visitors;
use bertha_core::{Addr, Error};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an answer counts.
const FRESH: Duration = Duration::from_secs(1);

/// Answers that are kept at most.
const KEPT: usize = 1024;

/// A service of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Its name.
    pub name: String,
    /// The user whose process registered it, as the directory sees that.
    pub user: u32,
    /// Its addresses.
    pub addresses: Vec<String>,
}

/// A client's end of a socket.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) socket: UnixStream,
    /// The user whose process has the other end.
    pub(crate) user: u32,
}

/// The directory of this machine. Clones share connection, cache and visitors.
#[derive(Debug, Clone)]
pub struct Directory {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    /// One question at a time; none while there is no connection.
    socket: tokio::sync::Mutex<Option<Packets>>,
    answers: Mutex<HashMap<Key, (Instant, Option<Found>)>>,
    visitors: Arc<Visitors>,
}

impl Directory {
    /// The directory that listens, or will, at this path. Nothing is sent yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let (path, socket, answers) = (path.into(), tokio::sync::Mutex::new(None), Mutex::default());
        Self { shared: Arc::new(Shared { path, socket, answers, visitors: Arc::default() }) }
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Enters a service of this process, under a name and the addresses at which clients reach it. They are compared as they are
    /// written, so they have to be those that clients use, and not `0.0.0.0`.
    ///
    /// # Errors
    /// [`AddrInUse`](bertha_core::ErrorKind::AddrInUse) if the name or an address belongs to another process,
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if the name is kept for another user, [`Invalid`](bertha_core::ErrorKind::Invalid) if
    /// something is too long or too much, [`Unreachable`](bertha_core::ErrorKind::Unreachable) if there is no directory.
    pub async fn register(&self, name: &str, addresses: &[Addr]) -> Result<Registration, Error> {
        let visitors = self.shared.visitors.clone();
        let registered = registration::register(&self.shared.path, name, addresses, visitors).await;
        registered.map_err(|error| self.concerning(error))
    }

    /// The service with this name or address, if it is on this machine. An answer counts for a second. Not
    /// cancellation-safe in one respect: a question that was dropped costs the next one a new connection.
    ///
    /// # Errors
    /// [`Unreachable`](bertha_core::ErrorKind::Unreachable) if there is no directory.
    pub async fn lookup(&self, service: impl Into<Key>) -> Result<Option<Found>, Error> {
        let service = service.into();
        if let Some((since, answer)) = self.shared.answers.lock().get(&service)
            && since.elapsed() < FRESH
        {
            return Ok(answer.clone());
        }
        let answer = match self.ask(&Request::Lookup(service.clone()), None).await? {
            Reply::Found { name, user, addresses } => Some(Found { name, user, addresses }),
            _ => None,
        };
        let mut answers = self.shared.answers.lock();
        if answers.len() >= KEPT {
            answers.retain(|_, (since, _)| since.elapsed() < FRESH);
        }
        if answers.len() < KEPT {
            answers.insert(service, (Instant::now(), answer.clone()));
        }
        Ok(answer)
    }

    /// A new socket whose other end the service is handed, with this token. None if no such service takes it.
    pub(crate) async fn visit(&self, service: &Key, token: Token) -> Result<Option<Visit>, Error> {
        let (own, other) = pair()?;
        let request = Request::Visit { service: service.clone(), token };
        match self.ask(&request, Some(other.as_fd())).await? {
            Reply::Visiting { user } => Ok(Some(Visit { socket: own.into(), user })),
            _ => {
                self.shared.answers.lock().remove(service);
                Ok(None)
            }
        }
    }

    /// The socket of a client that has [visited](Self::visit) a service of this process with this token.
    pub(crate) async fn visitor(&self, token: Token) -> Option<UnixStream> {
        self.shared.visitors.take(token).await.map(OwnedFd::into)
    }

    /// Asks, over the connection that there is or a new one.
    async fn ask(&self, request: &Request, file: Option<BorrowedFd<'_>>) -> Result<Reply, Error> {
        let mut place = self.shared.socket.lock().await;
        // Taken out, so that a question that is dropped does not leave its answer to the next.
        if let Some(socket) = place.take()
            && let Ok(reply) = asked(&socket, request, file).await
        {
            *place = Some(socket);
            return Ok(reply);
        }
        // The first one, or the directory has been started anew.
        let socket = Packets::connect(&self.shared.path).map_err(|error| self.concerning(error.into()))?;
        let reply = asked(&socket, request, file).await.map_err(|error| self.concerning(error.into()))?;
        *place = Some(socket);
        Ok(reply)
    }

    #[cold]
    fn concerning(&self, error: Error) -> Error {
        let what = format!("{}, at {}", error.context(), self.shared.path.display());
        Error::new(error.kind(), what).at("Directory").because(error)
    }
}

async fn asked(socket: &Packets, request: &Request, file: Option<BorrowedFd<'_>>) -> io::Result<Reply> {
    socket.send(&encode(request), file).await?;
    let packet = socket.recv().await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    decode(&packet.bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
