//! The answers of a directory to the requests of a client.

use super::counts::Lack;
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
use rustix::io::Errno;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The time that a client has for its first request.
const FIRST: Duration = Duration::from_secs(5);

/// The time that a service has to read earlier visitors, before a further visitor is refused. Short, since a client waits meanwhile.
const HANDING: Duration = Duration::from_millis(20);

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
            let reply = self.answer(request, files, state).await;
            self.socket.send(&encode(&reply), &[]).await?;
            next = self.socket.recv().await?;
        }
        Ok(())
    }

    async fn answer(
        &self,
        request: DirectoryRequest,
        files: Attached,
        state: &Mutex<DirectoryState>,
    ) -> Reply {
        match request {
            DirectoryRequest::Register { name, claims } => self.register(name, claims, &files, state),
            DirectoryRequest::Lookup(key) => match state.lock().entries.find(&key) {
                Some((_, Entry { name, user, addresses, .. })) => {
                    let addresses = addresses.iter().map(|address| address.text.clone()).collect();
                    Reply::Found { name: name.clone(), user: *user, addresses }
                }
                None => Reply::Unknown,
            },
            DirectoryRequest::Visit { service, token } => self.visit(service, token, files, state).await,
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
                // A socket that can't be limited would take too many visitors.
                if let Err(error) = self.socket.limit_unread() {
                    state.entries.remove(self.number);
                    let reason = format!("the socket of the service can't be limited: {error}");
                    return Reply::Refused { kind: Refusal::TooMuch, reason };
                }
                state.places.leave(self.number, self.user);
                state.services.insert(self.number, self.socket.clone());
                Reply::Registered { registration }
            }
            Err((kind, reason)) => {
                match kind {
                    Refusal::Full => state.counts.lack(Lack::Service, self.user, &reason),
                    _ => state.counts.refused_otherwise += 1,
                }
                Reply::Refused { kind, reason }
            }
        }
    }

    /// Hands the client's socket on. A service that does not read its visitors soon has no further visitors.
    async fn visit(
        &self,
        service: Key,
        token: Token,
        mut files: Attached,
        state: &Mutex<DirectoryState>,
    ) -> Reply {
        let Some(file) = files.take_only(is_stream) else {
            return Reply::Refused {
                kind: Refusal::TooMuch,
                reason: "a visit has one socket of a Unix stream".into(),
            };
        };
        let found = {
            let mut state = state.lock();
            let found = state.entries.find(&service);
            let found = found.and_then(|(number, entry)| {
                Some((state.services.get(&number)?.clone(), entry.user, entry.registration))
            });
            found.map(|(found, user, registration)| {
                let has_room = state.unread.has_room(user, &found);
                if has_room {
                    state.unread.handed(user, &found);
                }
                (found, user, registration, has_room)
            })
        };
        let reply = match found {
            None => Reply::Unknown,
            Some((.., user, _, false)) => {
                let reason = format!("services of user {user} have not read their visitors");
                self.refuse_visitor(user, reason, state)
            }
            Some((found, user, registration, true)) => {
                let visitor = encode(&Reply::Visitor { token, service, user: self.user });
                match timeout(HANDING, found.send_to_service(&visitor, &[file.as_fd()])).await {
                    Ok(Ok(())) => {
                        // Again, since it may have been forgotten before it was sent.
                        state.lock().unread.handed(user, &found);
                        Reply::Visiting { user, registration }
                    }
                    Ok(Err(error)) => {
                        let advice = match Errno::from_io_error(&error) {
                            Some(Errno::TOOMANYREFS) => {
                                "; the user of the directory has sent too many descriptors that nobody has received, \
                                 which CAP_SYS_RESOURCE allows"
                            }
                            _ => "",
                        };
                        self.refuse_visitor(user, format!("{error}{advice}"), state)
                    }
                    Err(_) => {
                        let reason = format!("a service of user {user} does not read its visitors");
                        self.refuse_visitor(user, reason, state)
                    }
                }
            }
        };
        // The client may have sent descriptors over it.
        bertha_runtime::tokio::descriptors::close_aside(file);
        reply
    }

    fn refuse_visitor(&self, user: u32, reason: String, state: &Mutex<DirectoryState>) -> Reply {
        state.lock().counts.lack(Lack::Visitor, user, &reason);
        Reply::Refused { kind: Refusal::Full, reason }
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
