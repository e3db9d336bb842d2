//! The answers of a directory to the requests of a client.

use super::entries::{Address, Entry};
use super::key::Key;
use super::packets::{Packet, Packets};
use super::proof::transport_at;
use super::protocol::{Claim, DirectoryRequest, Refusal, RegistrationId, Reply, Token, decode, encode};
use super::state::DirectoryState;
use bertha_core::{Error, ErrorKind, Runtime};
use bertha_runtime::tokio::TokioRuntime;
use bertha_runtime::tokio::descriptors::Attached;
use parking_lot::Mutex;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The time that a client has for its first request.
const FIRST: Duration = Duration::from_secs(5);

/// A client of the directory, by the number of its connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) number: u64,
    pub(super) user: u32,
    pub(super) socket: Arc<Packets>,
}

impl Client {
    /// Answers until the client is gone.
    pub(super) async fn serve(&self, state: &Mutex<DirectoryState>) -> Result<(), Error> {
        let first = timeout(FIRST, self.socket.recv()).await;
        let mut next = first.map_err(|_| Error::new(ErrorKind::TimedOut, "a client that asks nothing"))??;
        while let Some(Packet { bytes, files }) = next {
            let Some(request) = decode(&bytes) else {
                return Err(Error::new(ErrorKind::Malformed, "a packet that is no request"));
            };
            let reply = self.answer(request, files, state);
            self.socket.send(&encode(&reply), &[]).await?;
            next = self.socket.recv().await?;
        }
        Ok(())
    }

    fn answer(&self, request: DirectoryRequest, files: Attached, state: &Mutex<DirectoryState>) -> Reply {
        match request {
            DirectoryRequest::Register { name, claims } => self.register(name, claims, &files, state),
            DirectoryRequest::Lookup(key) => match state.lock().entries.find(&key) {
                Some((_, Entry { name, user, addresses, .. })) => {
                    let addresses = addresses.iter().map(|address| address.text.clone()).collect();
                    Reply::Found { name: name.clone(), user: *user, addresses }
                }
                None => Reply::Unknown,
            },
            DirectoryRequest::Visit { service, token } => self.visit(service, token, files, state),
        }
    }

    fn register(
        &self,
        name: String,
        claims: Vec<Claim>,
        files: &Attached,
        state: &Mutex<DirectoryState>,
    ) -> Reply {
        let mut sockets = files.iter();
        let addresses = claims.into_iter().map(|claim| proven(claim, &mut sockets)).collect();
        let registration = random_id();
        let mut state = state.lock();
        let entry = Entry { name, user: self.user, addresses, registration };
        match state.entries.register(self.number, entry) {
            Ok(()) => {
                state.places.leave(self.number, self.user);
                state.services.insert(self.number, self.socket.clone());
                Reply::Registered { registration }
            }
            Err((kind, reason)) => Reply::Refused { kind, reason },
        }
    }

    /// Hands the client's socket on. A service that does not take its visitors has none: nothing waits for it here.
    fn visit(&self, service: Key, token: Token, mut files: Attached, state: &Mutex<DirectoryState>) -> Reply {
        let Some(file) = files.take_only(is_stream) else {
            return Reply::Refused {
                kind: Refusal::TooMuch,
                reason: "a visit has one socket of a Unix stream".into(),
            };
        };
        let found = {
            let state = state.lock();
            let found = state.entries.find(&service);
            found.and_then(|(number, entry)| {
                Some((state.services.get(&number)?.clone(), entry.user, entry.registration))
            })
        };
        let reply = match found {
            None => Reply::Unknown,
            Some((found, user, registration)) => {
                let visitor = Reply::Visitor { token, service, user: self.user };
                match found.try_send(&encode(&visitor), &[file.as_fd()]) {
                    Ok(()) => Reply::Visiting { user, registration },
                    Err(error) => {
                        tracing::debug!(%error, "a service takes no visitor");
                        Reply::Unknown
                    }
                }
            }
        };
        // The client may have sent descriptors over it.
        bertha_runtime::tokio::descriptors::close_aside(file);
        reply
    }
}

/// The address, with the transport of the socket that the process has shown for it.
fn proven<'a>(claim: Claim, sockets: &mut impl Iterator<Item = &'a OwnedFd>) -> Address {
    let socket = if claim.has_socket { sockets.next() } else { None };
    let transport = socket.and_then(|socket| transport_at(&claim.address.parse().ok()?, socket));
    Address { text: claim.address, transport }
}

fn is_stream(file: &OwnedFd) -> bool {
    socket_domain(file) == Ok(AddressFamily::UNIX) && socket_type(file) == Ok(SocketType::STREAM)
}

fn random_id() -> RegistrationId {
    let mut id = [0; 32];
    for part in id.as_chunks_mut::<8>().0 {
        *part = TokioRuntime.random().to_ne_bytes();
    }
    id
}
