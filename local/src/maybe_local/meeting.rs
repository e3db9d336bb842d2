//! How two ends find out whether they are on one machine.
//!
//! ```text
//!  client                                     server
//!     | -- NEAR, token, key visited ------------> |   the visitor with this token came by this key
//!     | <------------- NEAR, registration number -|   the client has visited this registration
//!     | -- NEAR --------------------------------> |   the client offers memory, the server takes it
//!     | <------------------------------- NEAR --- |
//! ```
//!
//! These messages go over the connection below, and each end answers FAR and the code of its reason instead if something does not agree;
//! then both use the connection below. The client has visited the service by the directory, with a random token, before. The
//! directory gave the client's socket and its token to a process that registered the key, and its number of that registration to the
//! client. So a process that
//! registered what belongs to the service gets a socket over which nothing comes: the service does not say the number of that
//! registration. And a process that brings the token to the service comes by another key, or by another registration than the client.
//! An attacker who changes the messages of the connection below itself is not found out.

use super::Reason;
use super::way::Far;
use crate::directory::{Directory, Key, RegistrationId, Token, Transport};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Role, Runtime};
use bertha_datapath_shm::{Shm, ShmConnection, Users};
use std::os::unix::net::UnixStream;

/// The sender uses the connection below. The code of the reason follows.
const FAR: u8 = 0;
/// The sender goes on with the meeting.
const NEAR: u8 = 1;

/// Everything that an end knows before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meeting<'a> {
    pub(super) directory: &'a Directory,
    pub(super) shm: &'a Shm,
    pub(super) service: Option<&'a Key>,
}

/// The connection through shared memory, or the reason why there is none.
pub(super) type Met = Result<ShmConnection, Far>;

/// Lets both ends find out, and tells the log.
pub(super) async fn meet<C>(meeting: Meeting<'_>, inner: &C, role: Role) -> Result<Met, Error>
where
    C: Connection<Data = Buf>,
{
    let met = match role {
        Role::Client => meeting.client(inner).await?,
        Role::Server => meeting.server(inner).await?,
        _ => {
            return Err(Error::new(
                ErrorKind::Unavailable,
                "participants of a rendezvous have no single peer that could be local",
            ));
        }
    };
    let peer = inner.base().peer_addr();
    match &met {
        Ok(_) => tracing::debug!(%peer, "messages go through shared memory"),
        Err(reason) => tracing::debug!(%peer, %reason, "messages go over the connection below"),
    }
    Ok(met)
}

/// A service that a client has visited.
struct Visited {
    socket: UnixStream,
    registration: RegistrationId,
}

impl Meeting<'_> {
    async fn client<C: Connection<Data = Buf>>(self, inner: &C) -> Result<Met, Error> {
        let token = token(inner.base().runtime());
        let key = self.service.cloned().unwrap_or_else(|| address_of_peer(inner.base()));
        let visited = match self.visit(&key, token).await {
            Ok(visited) => visited,
            Err(far) => return decline(inner, far).await,
        };
        say(inner, &[&[NEAR], &token[..], &encoded(&key)].concat()).await?;
        match inner.recv().await?[..] {
            [FAR, ref code @ ..] => return declined(code).map(Err),
            [NEAR, ref registration @ ..] if *registration == visited.registration => {}
            [NEAR, ref registration @ ..] if registration.len() == size_of::<RegistrationId>() => {
                tracing::warn!(%key, "the directory names another process than the one behind the connection");
                return decline(inner, Reason::AnotherProcess.into()).await;
            }
            _ => return Err(unknown()),
        }
        say(inner, &[NEAR]).await?;
        // Closed unless it is taken, so the server's answer comes in either case.
        // The socket is of this process' own making; the directory has said which process has its other end.
        let offered = self.shm.clone().users(Users::Any).offer(visited.socket).await;
        match inner.recv().await?[..] {
            [NEAR] => offered.map(Ok),
            [FAR, ref code @ ..] => {
                let (far, peer) = (Far::from(Reason::NoMemory), declined(code)?);
                Ok(Err(match offered {
                    Err(error) => far.with(error),
                    Ok(_) => far.with(peer),
                }))
            }
            _ => Err(unknown()),
        }
    }

    /// A socket whose other end the service has, if it is on this machine and of a user with whom memory is shared.
    async fn visit(self, key: &Key, token: Token) -> Result<Visited, Far> {
        let no_directory = |error: Error| {
            let refuses = error.kind() == ErrorKind::Exhausted;
            Far::from(if refuses { Reason::DirectoryRefuses } else { Reason::NoDirectory }).with(error)
        };
        let not_registered = || Far::from(Reason::NotRegistered).with(format_args!("its key would be {key}"));
        // An answer that is known already spares a question for each connection to another machine.
        let found = self.directory.lookup(key.clone()).await.map_err(no_directory)?;
        let user = found.ok_or_else(not_registered)?.user;
        if !self.shm.shares_with(user) {
            return Err(Reason::User(user).into());
        }
        let visit = self.directory.visit(key, token).await.map_err(no_directory)?;
        let visit = visit.ok_or_else(not_registered)?;
        // It may be of another user since.
        if !self.shm.shares_with(visit.user) {
            return Err(Reason::User(visit.user).into());
        }
        Ok(Visited { socket: visit.socket, registration: visit.registration })
    }

    async fn server<C: Connection<Data = Buf>>(self, inner: &C) -> Result<Met, Error> {
        let said = inner.recv().await?;
        let (token, key) = match said[..] {
            [FAR, ref code @ ..] => {
                self.directory.tell_unregistered();
                return declined(code).map(Err);
            }
            [NEAR, ref rest @ ..] => rest.split_first_chunk().ok_or_else(unknown)?,
            _ => return Err(unknown()),
        };
        let visitor = match self.directory.visitor(*token).await {
            Some(visitor) if encoded(&visitor.service) != key => Err(Reason::AnotherProcess),
            Some(visitor) if !self.shm.shares_with(visitor.user) => Err(Reason::User(visitor.user)),
            Some(visitor) => Ok(visitor),
            None => Err(Reason::NotVisited),
        };
        let visitor = match visitor {
            Ok(visitor) => visitor,
            Err(reason) => return decline(inner, reason.into()).await,
        };
        say(inner, &[&[NEAR], &visitor.registration[..]].concat()).await?;
        match inner.recv().await?[..] {
            [NEAR] => {}
            [FAR, ref code @ ..] => return declined(code).map(Err),
            _ => return Err(unknown()),
        }
        let taken = match visitor.into_socket() {
            Some(socket) => self.shm.take(socket.into()).await,
            None => Err(Error::new(ErrorKind::Closed, "the visitor is gone")),
        };
        match taken {
            Ok(near) => say(inner, &[NEAR]).await.map(|()| Ok(near)),
            Err(error) => decline(inner, Far::from(Reason::NoMemory).with(error)).await,
        }
    }
}

/// The address to which a client has connected, by the transport of its datapath.
fn address_of_peer(base: &impl Base) -> Key {
    let transport = if base.properties().reliable { Transport::Stream } else { Transport::Datagram };
    Key::At(transport, base.peer_addr().to_string())
}

fn encoded(key: &Key) -> Vec<u8> {
    // A string is always encoded; an empty key is never that of a visitor.
    postcard::to_allocvec(key).unwrap_or_default()
}

async fn say(inner: &impl Connection<Data = Buf>, bytes: &[u8]) -> Result<(), Error> {
    let mut message = inner.base().buffer(bytes.len())?;
    message.copy_from_slice(bytes);
    inner.send(message).await
}

/// Tells the other end that this end uses the connection below.
async fn decline(inner: &impl Connection<Data = Buf>, far: Far) -> Result<Met, Error> {
    say(inner, &[FAR, far.reason.code()]).await.map(|()| Err(far))
}

/// Returns what the other end means that uses the connection below, with the code of its reason.
fn declined(code: &[u8]) -> Result<Far, Error> {
    let far = Far::from(Reason::Peer);
    match *code {
        [] => Ok(far),
        [code] => Ok(match Reason::of_peer(code) {
            Some(why) => far.with(why),
            None => far,
        }),
        _ => Err(unknown()),
    }
}

fn token(runtime: &impl Runtime) -> Token {
    let mut token = [0; 32];
    for part in token.as_chunks_mut::<8>().0 {
        *part = runtime.random().to_ne_bytes();
    }
    token
}

#[cold]
fn unknown() -> Error {
    Error::new(ErrorKind::Malformed, "the other end says something unknown about its place")
}
