//! A service's entry.

use super::own_sockets::listening_at;
use super::packets::{Packet, Packets};
use super::protocol::{Claim, DirectoryRequest, RegistrationId, Reply, decode, encode};
use super::visitors::{Visitor, Visitors};
use bertha_core::backoff::Backoff;
use bertha_core::{Addr, Error, ErrorKind, Runtime};
use bertha_runtime::tokio::{Task, TokioRuntime};
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The time between two looks at the visitors that wait.
const SWEEP: Duration = Duration::from_secs(1);

/// A service's entry in the directory of the machine, for as long as this exists. A directory that is started again gets the entry
/// again, within ten seconds, and so does a directory that has refused it before.
#[must_use = "dropping it takes the entry out"]
pub struct Registration {
    name: String,
    is_entered: Arc<AtomicBool>,
    _visitors: Task,
}

bertha_core::debug_fields!(Registration { name, is_entered });

impl Registration {
    /// Returns true if the directory has the service at this moment, as far as this process knows.
    pub fn is_entered(&self) -> bool {
        // Relaxed: the flag stands for itself.
        self.is_entered.load(Ordering::Relaxed)
    }
}

/// A service that a directory has, or is to have.
pub(super) struct ServicePlace {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) addresses: Vec<Addr>,
    /// The time in which the directory answers.
    pub(super) patience: Duration,
}

/// The connection to the directory, and the number of the registration.
type Entered = (Packets, RegistrationId);

impl ServicePlace {
    /// Keeps the service in the directory, beginning with this entry, and takes its visitors in.
    pub(super) fn registered(self, mut entry: Option<Entered>, visitors: Arc<Visitors>) -> Registration {
        let name = self.name.clone();
        let is_entered = Arc::new(AtomicBool::new(entry.is_some()));
        let flag = is_entered.clone();
        let task = TokioRuntime.spawn(async move {
            let name = &self.name;
            loop {
                let (socket, registration) = match entry.take() {
                    Some(entry) => entry,
                    None => {
                        let entry = self.enter_again().await;
                        flag.store(true, Ordering::Relaxed);
                        tracing::info!(name, "the directory of the machine has the service again");
                        entry
                    }
                };
                receive(&socket, registration, &visitors).await;
                drop(socket);
                flag.store(false, Ordering::Relaxed);
                tracing::warn!(
                    name,
                    "the directory of the machine has gone; local clients come by the network"
                );
            }
        });
        Registration { name, is_entered, _visitors: task }
    }

    /// Tries to enter the service, with growing pauses, until it is entered.
    async fn enter_again(&self) -> Entered {
        let mut pauses = Backoff::new(Duration::from_millis(100), Duration::from_secs(10)).at_least_half();
        loop {
            tokio::time::sleep(pauses.pause(TokioRuntime.random())).await;
            match self.enter().await {
                Ok(entry) => return entry,
                Err(error) => {
                    tracing::debug!(name = self.name, %error, "the directory does not have the service yet")
                }
            }
        }
    }

    /// Enters the service over a connection of its own.
    pub(super) async fn enter(&self) -> Result<Entered, Error> {
        let socket = Packets::connect_for_visitors(&self.path)?;
        let entered = timeout(self.patience, self.entered(&socket)).await;
        let registration = entered.map_err(|_| {
            let what =
                format!("the directory did not say within {:?} if it enters the service", self.patience);
            Error::new(ErrorKind::TimedOut, what)
        })??;
        Ok((socket, registration))
    }

    async fn entered(&self, socket: &Packets) -> Result<RegistrationId, Error> {
        let sockets = listening_at(&self.addresses);
        let claims = self.addresses.iter().zip(&sockets);
        let claims = claims
            .map(|(address, socket)| Claim { address: address.to_string(), has_socket: socket.is_some() });
        let request = DirectoryRequest::Register { name: self.name.clone(), claims: claims.collect() };
        let files: Vec<_> = sockets.iter().flatten().map(AsFd::as_fd).collect();
        let answer = socket.ask(&encode(&request), &files).await?;
        match answer.and_then(|packet| decode(&packet.bytes)) {
            Some(Reply::Registered { registration }) => Ok(registration),
            Some(Reply::Refused { kind, reason }) => Err(kind.into_error(&reason)),
            _ => Err(Error::new(ErrorKind::Closed, "the directory ended the connection")),
        }
    }
}

/// Takes visitors in until the directory is gone.
async fn receive(socket: &Packets, registration: RegistrationId, visitors: &Visitors) {
    let mut some_wait = false;
    loop {
        let received = match some_wait {
            true => timeout(SWEEP, socket.recv()).await,
            false => Ok(socket.recv().await),
        };
        match received {
            Ok(Ok(Some(Packet { bytes, mut files }))) => {
                let file = files.take_only(|file| socket_domain(file) == Ok(AddressFamily::UNIX));
                if let (Some(Reply::Visitor { token, service, user }), Some(file)) = (decode(&bytes), file) {
                    visitors.put(token, Visitor::new(file, service, user, registration));
                    some_wait = true;
                }
            }
            Ok(_) => return,
            Err(_) => some_wait = visitors.sweep(Instant::now()),
        }
    }
}
