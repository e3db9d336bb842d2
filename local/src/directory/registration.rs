//! A service's entry.

use super::own_sockets::listening_at;
use super::packets::{Packet, Packets};
use super::protocol::{Claim, DirectoryRequest, Refusal, RegistrationId, Reply, decode, encode};
use super::visitors::{Visitor, Visitors};
use bertha_core::backoff::Backoff;
use bertha_core::{Addr, Error, ErrorKind, Runtime};
use bertha_runtime::tokio::{Task, TokioRuntime};
use rustix::net::AddressFamily;
use rustix::net::sockopt::socket_domain;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The time for which a service waits until it is entered.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The time between two looks at the visitors that wait.
const SWEEP: Duration = Duration::from_secs(1);

/// A service's entry in the directory of the machine, for as long as this exists. A directory that is started again gets the entry
/// again, within ten seconds.
#[must_use = "dropping it takes the entry out"]
pub struct Registration {
    name: String,
    _visitors: Task,
}

bertha_core::debug_fields!(Registration { name });

/// Enters a service, whose visitors come to `visitors`.
pub(super) async fn register(
    path: &Path,
    name: &str,
    addresses: &[Addr],
    visitors: Arc<Visitors>,
) -> Result<Registration, Error> {
    let mut entry = enter(path, name, addresses).await?;
    let place = Place { path: path.into(), name: name.into(), addresses: addresses.into() };
    let task = TokioRuntime.spawn(async move {
        loop {
            let (socket, registration) = entry;
            receive(&socket, registration, &visitors).await;
            drop(socket);
            tracing::warn!(
                name = place.name,
                "the directory of the machine has gone; local clients come by the network"
            );
            entry = place.enter_again().await;
            tracing::info!(name = place.name, "the directory of the machine has the service again");
        }
    });
    Ok(Registration { name: name.into(), _visitors: task })
}

/// The parts of an entry that is made again.
struct Place {
    path: PathBuf,
    name: String,
    addresses: Vec<Addr>,
}

impl Place {
    /// Tries to enter the service, with growing pauses, until it is entered.
    async fn enter_again(&self) -> (Packets, RegistrationId) {
        let mut pauses = Backoff::new(Duration::from_millis(100), Duration::from_secs(10)).at_least_half();
        loop {
            tokio::time::sleep(pauses.pause(TokioRuntime.random())).await;
            match enter(&self.path, &self.name, &self.addresses).await {
                Ok(entry) => return entry,
                Err(error) => {
                    tracing::debug!(name = self.name, %error, "the directory does not have the service yet")
                }
            }
        }
    }
}

/// Enters the service over a connection of its own.
async fn enter(path: &Path, name: &str, addresses: &[Addr]) -> Result<(Packets, RegistrationId), Error> {
    let socket = Packets::connect_for_visitors(path)?;
    let registration = timeout(TIMEOUT, entered(&socket, name, addresses)).await.map_err(|_| {
        Error::new(ErrorKind::TimedOut, "the directory does not say whether it has entered the service")
    })??;
    Ok((socket, registration))
}

async fn entered(socket: &Packets, name: &str, addresses: &[Addr]) -> Result<RegistrationId, Error> {
    let sockets = listening_at(addresses);
    let claims = addresses.iter().zip(&sockets);
    let claims =
        claims.map(|(address, socket)| Claim { address: address.to_string(), has_socket: socket.is_some() });
    let request = DirectoryRequest::Register { name: name.into(), claims: claims.collect() };
    let files: Vec<_> = sockets.iter().flatten().map(AsFd::as_fd).collect();
    socket.send(&encode(&request), &files).await?;
    match socket.recv().await?.and_then(|packet| decode(&packet.bytes)) {
        Some(Reply::Registered { registration }) => Ok(registration),
        Some(Reply::Refused { kind, reason }) => {
            let kind = match kind {
                Refusal::Taken => ErrorKind::AddrInUse,
                Refusal::NoRight => ErrorKind::Unauthenticated,
                Refusal::TooMuch => ErrorKind::Invalid,
            };
            Err(Error::new(kind, format!("the directory does not enter the service: {reason}")))
        }
        _ => Err(Error::new(ErrorKind::Closed, "the directory ended the connection")),
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
