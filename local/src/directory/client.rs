//! The client of a directory.

use super::key::Key;
use super::packets::{Packets, pair};
use super::protocol::{DirectoryRequest, RegistrationId, Reply, Token, decode, encode};
use super::registration::{Registration, ServicePlace};
use super::visitors::{Visitor, Visitors};
use bertha_core::{Addr, Error, ErrorKind};
use bertha_runtime::tokio::descriptors;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// Time for which an answer counts, and for which the silence of the directory counts.
const FRESH: Duration = Duration::from_secs(1);

/// The time in which a directory answers, unless another is set.
const PATIENCE: Duration = Duration::from_millis(100);

/// The time in which a service is entered at least, since its process waits once.
const REGISTERING: Duration = Duration::from_secs(1);

/// Answers that are kept at most.
const KEPT: usize = 1024;

/// The attempts to connect while the directory's backlog is full, and the time between two of them. The patience of
/// the caller may end before.
const CONNECTS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

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
    /// The registration that has the other end.
    pub(crate) registration: RegistrationId,
}

/// The directory of this machine. Clones share connection, cache and visitors.
#[derive(Debug, Clone)]
pub struct Directory {
    shared: Arc<ClientShared>,
    patience: Duration,
}

#[derive(Debug)]
struct ClientShared {
    path: PathBuf,
    /// One question at a time; none while there is no connection.
    socket: tokio::sync::Mutex<Option<Packets>>,
    answers: Mutex<HashMap<Key, (Instant, Option<Found>)>>,
    /// The time at which it last did not answer in time.
    silent: Mutex<Option<Instant>>,
    visitors: Arc<Visitors>,
    /// True if a service of this process has been registered, or if it was told that none has.
    has_registered: AtomicBool,
}

impl Directory {
    /// The directory that listens, or will, at this path. Nothing is sent yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        let shared = ClientShared {
            path: path.into(),
            socket: tokio::sync::Mutex::new(None),
            answers: Mutex::default(),
            silent: Mutex::default(),
            visitors: Arc::default(),
            has_registered: AtomicBool::new(false),
        };
        Self { shared: Arc::new(shared), patience: PATIENCE }
    }

    /// The time that a question waits for its answer, 100 ms by default. Once it was in vain, further questions within a second fail
    /// at once, so that a directory which does not answer holds no connection up. [Registering](Self::register) waits for this time,
    /// and for a second at least.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Enters a service of this process, under a name and the addresses at which clients reach it. They are compared as they are
    /// written, so they have to be those that clients use, and not `0.0.0.0`.
    ///
    /// A socket of this process has to listen at each address: the process finds it among its own, and shows it to the directory. An address that
    /// the [`Rules`](super::Rules) of the directory keep for the user of this process needs no socket.
    ///
    /// Returns after a second at the latest, and always with a registration, so the directory never keeps a service from
    /// starting. Where the directory refuses the service, does not answer, or is not there, the log is warned with the reason, local
    /// clients come by the network, and the service is entered as soon as the directory takes it: it is asked again, with pauses of up to ten
    /// seconds. [`Registration::is_entered`] tells if it is. [`try_register`](Self::try_register) returns the error.
    pub async fn register(&self, name: &str, addresses: &[Addr]) -> Registration {
        // Relaxed: the flag stands for itself.
        self.shared.has_registered.store(true, Ordering::Relaxed);
        let place = self.place(name, addresses);
        let entry = place.enter().await;
        if let Err(error) = &entry {
            tracing::warn!(
                name,
                directory = %self.path().display(),
                %error,
                "the directory of the machine does not have the service, which local clients reach by the network; it is asked again"
            );
        }
        place.registered(entry.ok(), self.shared.visitors.clone())
    }

    /// Enters a service of this process as [`register`](Self::register) does, or fails.
    ///
    /// # Errors
    /// [`AddrInUse`](bertha_core::ErrorKind::AddrInUse) if the name or an address belongs to another process,
    /// [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) if the name or an address is kept for another user, or if no socket
    /// of this process listens at an address, [`Invalid`](bertha_core::ErrorKind::Invalid) if something is too long or too much,
    /// [`Exhausted`](bertha_core::ErrorKind::Exhausted) if the directory has no room, for this user or at all,
    /// [`Unreachable`](bertha_core::ErrorKind::Unreachable) if there is no directory, [`TimedOut`](bertha_core::ErrorKind::TimedOut) if it does not
    /// answer within a second.
    pub async fn try_register(&self, name: &str, addresses: &[Addr]) -> Result<Registration, Error> {
        let place = self.place(name, addresses);
        let entry = place.enter().await.map_err(|error| self.concerning(error))?;
        // Relaxed: the flag stands for itself.
        self.shared.has_registered.store(true, Ordering::Relaxed);
        Ok(place.registered(Some(entry), self.shared.visitors.clone()))
    }

    fn place(&self, name: &str, addresses: &[Addr]) -> ServicePlace {
        let patience = self.patience.max(REGISTERING);
        ServicePlace { path: self.path().into(), name: name.into(), addresses: addresses.into(), patience }
    }

    /// Tells once that this process serves and has registered nothing, if that is so and there is a directory.
    pub(crate) fn tell_unregistered(&self) {
        if self.shared.path.exists() && !self.shared.has_registered.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                directory = %self.shared.path.display(),
                "a client comes by the network, since this process has registered no service: `register` does that"
            );
        }
    }

    /// The service with this name or address, if it is on this machine. An answer counts for a second. Not
    /// cancellation-safe in one respect: a question that was dropped costs the next one a new connection.
    ///
    /// # Errors
    /// [`Unreachable`](bertha_core::ErrorKind::Unreachable) if there is no directory, [`TimedOut`](bertha_core::ErrorKind::TimedOut) if it does
    /// not answer within the [patience](Self::patience), or did not within the last second.
    pub async fn lookup(&self, service: impl Into<Key>) -> Result<Option<Found>, Error> {
        let service = service.into();
        if let Some((since, answer)) = self.shared.answers.lock().get(&service)
            && since.elapsed() < FRESH
        {
            return Ok(answer.clone());
        }
        let answer = match self.ask(&DirectoryRequest::Lookup(service.clone()), &[]).await? {
            Reply::Found { name, user, addresses } => Some(Found { name, user, addresses }),
            Reply::Refused { kind, reason } => return Err(self.concerning(kind.into_error(&reason))),
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

    /// A new socket whose other end the service is handed, with this token. None if there is no such service.
    pub(crate) async fn visit(&self, service: &Key, token: Token) -> Result<Option<Visit>, Error> {
        let (own, other) = pair()?;
        descriptors::refuse(&own)?;
        let request = DirectoryRequest::Visit { service: service.clone(), token };
        match self.ask(&request, &[other.as_fd()]).await? {
            Reply::Visiting { user, registration } => {
                Ok(Some(Visit { socket: own.into(), user, registration }))
            }
            Reply::Refused { kind, reason } => Err(self.concerning(kind.into_error(&reason))),
            _ => {
                self.shared.answers.lock().remove(service);
                Ok(None)
            }
        }
    }

    /// The client that has [visited](Self::visit) a service of this process with this token.
    pub(crate) async fn visitor(&self, token: Token) -> Option<Visitor> {
        self.shared.visitors.take(token).await
    }

    /// Asks, within the time that a question has. That the directory is silent is remembered.
    async fn ask(&self, request: &DirectoryRequest, files: &[BorrowedFd<'_>]) -> Result<Reply, Error> {
        let silent = |directory: &Self| {
            let what = format!("the directory did not answer within {:?}", directory.patience);
            directory.concerning(Error::new(ErrorKind::TimedOut, what))
        };
        if self.shared.silent.lock().is_some_and(|since| since.elapsed() < FRESH) {
            return Err(silent(self));
        }
        match timeout(self.patience, self.answer(request, files)).await {
            Ok(answer) => answer,
            Err(_) => {
                *self.shared.silent.lock() = Some(Instant::now());
                Err(silent(self))
            }
        }
    }

    /// The answer, over the connection that there is or a new one.
    async fn answer(&self, request: &DirectoryRequest, files: &[BorrowedFd<'_>]) -> Result<Reply, Error> {
        let mut place = self.shared.socket.lock().await;
        // Taken out, so that a question that is dropped does not leave its answer to the next.
        if let Some(socket) = place.take()
            && let Ok(reply) = asked(&socket, request, files).await
        {
            *place = Some(socket);
            return Ok(reply);
        }
        // The first one, or the directory has been started anew or has made room for another client.
        let socket = self.connected().await.map_err(|error| self.concerning(error.into()))?;
        let reply = asked(&socket, request, files).await.map_err(|error| self.concerning(error.into()))?;
        *place = Some(socket);
        Ok(reply)
    }

    /// Connects, and waits while the directory has other clients to accept first: its backlog is full.
    async fn connected(&self) -> io::Result<Packets> {
        for _ in 0..CONNECTS {
            match Packets::connect(&self.shared.path) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(PAUSE).await,
                done => return done,
            }
        }
        Packets::connect(&self.shared.path)
    }

    #[cold]
    fn concerning(&self, error: Error) -> Error {
        let what = format!("{}, at {}", error.context(), self.shared.path.display());
        Error::new(error.kind(), what).at("Directory").because(error)
    }
}

async fn asked(socket: &Packets, request: &DirectoryRequest, files: &[BorrowedFd<'_>]) -> io::Result<Reply> {
    let packet = socket.ask(&encode(request), files).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
    decode(&packet.bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}
