//! An agent behind a Unix datagram socket.

use super::guarded::{GuardedSocket, is_nothing};
use super::own_path::OwnPath;
use crate::datapath::{Datapath, Link};
use crate::message::MAX_MESSAGE;
use bertha_core::{Error, ErrorKind};
use rustix::net::SocketAddrUnix;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time after which the thread notices that its datapath is gone.
const TICK: Duration = Duration::from_millis(200);

#[derive(Debug)]
struct Unix {
    socket: GuardedSocket,
    agent: SocketAddrUnix,
    /// The path of the agent, for people.
    path: PathBuf,
    _own: OwnPath,
}

impl Link for Unix {
    fn send(&self, message: &[u8]) -> Result<(), Error> {
        self.socket.send(message, &self.agent).map_err(|error| {
            // The queue of a Unix socket is short: an agent that is busy for a moment lets it fill up.
            let kind = match error.kind() {
                io::ErrorKind::WouldBlock => ErrorKind::Exhausted,
                _ => ErrorKind::Unavailable,
            };
            Error::new(kind, format!("the agent at {} takes no message: {error}", self.path.display()))
                .at("CCP")
        })
    }

    fn agent(&self) -> String {
        self.path.display().to_string()
    }
}

/// Connects `own`, which is created, and which only the own user and root may write to, to the agent at `agent`, and receives on a
/// thread of its own until the datapath is dropped.
///
/// # Errors
/// Fails if the socket can't be made.
pub(crate) fn connect(own: &Path, agent: &Path) -> Result<Arc<Datapath>, Error> {
    let failed = |what: &str, error: io::Error| {
        let what = format!("{what} {}: {error}", own.display());
        Error::new(ErrorKind::Io, what).because(error).at("CCP")
    };
    let address = SocketAddrUnix::new(agent).map_err(|error| {
        let what = format!("{} is no path of a socket: {error}", agent.display());
        Error::new(ErrorKind::Invalid, what).at("CCP")
    })?;
    OwnPath::vacate(own).map_err(|error| failed("can't make a socket at", error))?;
    let socket = GuardedSocket::bind(own, TICK).map_err(|error| failed("can't bind", error))?;
    let path = OwnPath::bound(own);
    let reader = socket.try_clone().map_err(|error| failed("can't duplicate", error))?;
    let datapath = Datapath::new(Unix { socket, agent: address.clone(), path: agent.to_owned(), _own: path });
    let weak = Arc::downgrade(&datapath);
    std::thread::Builder::new()
        .name("ccp".to_owned())
        .spawn(move || receive(&reader, &address, &weak))
        .map_err(|error| failed("can't start a thread for", error))?;
    Ok(datapath)
}

/// Hands messages of the agent, and of nobody else, to the datapath.
fn receive(socket: &GuardedSocket, agent: &SocketAddrUnix, datapath: &Weak<Datapath>) {
    let mut bytes = vec![0; MAX_MESSAGE];
    loop {
        let received = socket.recv(&mut bytes);
        let Some(datapath) = datapath.upgrade() else { return };
        match received {
            Ok(message) if message.path.as_ref() == Some(agent) && message.is_trusted() => {
                datapath.handle(&bytes[..message.length]);
                datapath.tell_ends();
            }
            Ok(message) => tracing::debug!(?message, "CCP: a message that is not of the agent was dropped"),
            Err(error) if is_nothing(&error) => datapath.tell_ends(),
            Err(error) => {
                tracing::warn!(%error, "CCP: nothing can be received from the agent any more");
                return;
            }
        }
    }
}
