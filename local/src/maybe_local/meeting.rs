//! How two ends find out whether they are on one machine.
//!
//! The client says over the connection below whether it has visited the server by the directory, and with which token. The server looks
//! among its visitors, and says whether it has taken the memory. So either both use it or none does; and who can't take part in
//! the connection below has no token to visit with.

use crate::directory::{Directory, Key};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Role, Runtime};
use bertha_datapath_shm::{Shm, ShmConnection, Users};
use std::os::unix::net::UnixStream;

/// The client comes over the connection below alone, or the server has not taken the memory.
const FAR: u8 = 0;
/// The client has visited the server, with the token that follows; or the server has taken the memory.
const NEAR: u8 = 1;

/// Everything that an end knows before.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meeting<'a> {
    pub(super) directory: &'a Directory,
    pub(super) shm: &'a Shm,
    pub(super) service: Option<&'a Key>,
}

/// The connection through shared memory, if both ends are on this machine.
pub(super) async fn meet<C>(
    meeting: Meeting<'_>,
    inner: &C,
    role: Role,
) -> Result<Option<ShmConnection>, Error>
where
    C: Connection<Data = Buf>,
{
    match role {
        Role::Client => meeting.client(inner).await,
        Role::Server => meeting.server(inner).await,
        _ => Err(Error::new(
            ErrorKind::Unavailable,
            "participants of a rendezvous have no single peer that could be local",
        )),
    }
}

impl Meeting<'_> {
    async fn client<C: Connection<Data = Buf>>(self, inner: &C) -> Result<Option<ShmConnection>, Error> {
        let token = token(inner.base().runtime());
        let visit = match self.service {
            Some(service) => self.visit(service, token).await,
            None => self.visit(&Key::from(&inner.base().peer_addr()), token).await,
        };
        let Some(socket) = visit else {
            inner.send(message(inner, &[FAR])?).await?;
            return Ok(None);
        };
        inner.send(message(inner, &[&[NEAR], &token[..]].concat())?).await?;
        // Closed unless it is taken, so the server's answer comes in either case.
        // The socket is of this process' own making; the directory has said which process has its other end.
        let offered = self.shm.clone().users(Users::Any).offer(socket).await;
        match inner.recv().await?[..] {
            [NEAR] => offered.map(Some),
            [FAR] => Ok(None),
            _ => Err(unknown()),
        }
    }

    /// A socket whose other end the service has, if it is on this machine and of a user with whom memory is shared.
    async fn visit(self, service: &Key, token: [u8; 32]) -> Option<UnixStream> {
        // An answer that is known already spares a question for each connection to another machine.
        let found = match self.directory.lookup(service.clone()).await {
            Ok(found) => found?,
            Err(error) => {
                tracing::debug!(%error, "no directory says which services are local");
                return None;
            }
        };
        if !self.shm.shares_with(found.user) {
            return None;
        }
        match self.directory.visit(service, token).await {
            // It may be another's since.
            Ok(Some(visit)) if self.shm.shares_with(visit.user) => Some(visit.socket),
            Ok(_) => None,
            Err(error) => {
                tracing::debug!(%error, "the directory has gone");
                None
            }
        }
    }

    async fn server<C: Connection<Data = Buf>>(self, inner: &C) -> Result<Option<ShmConnection>, Error> {
        let said = inner.recv().await?;
        let token = match said[..] {
            [FAR] => return Ok(None),
            [NEAR, ref token @ ..] => token.try_into().map_err(|_| unknown())?,
            _ => return Err(unknown()),
        };
        let taken = match self.directory.visitor(token).await {
            Some(socket) => self.shm.take(socket).await,
            None => Err(Error::new(ErrorKind::TimedOut, "a client that did not come by the directory")),
        };
        let near =
            taken.inspect_err(|error| tracing::debug!(%error, "a local client comes by the network")).ok();
        inner.send(message(inner, &[if near.is_some() { NEAR } else { FAR }])?).await?;
        Ok(near)
    }
}

fn message(inner: &impl Connection, bytes: &[u8]) -> Result<Buf, Error> {
    let mut message = inner.base().buffer(bytes.len())?;
    message.copy_from_slice(bytes);
    Ok(message)
}

fn token(runtime: &impl Runtime) -> [u8; 32] {
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
