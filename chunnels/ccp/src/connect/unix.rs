//! An agent behind a Unix datagram socket.

use super::rights;
use crate::datapath::{Datapath, Link};
use crate::message::MAX_MESSAGE;
use bertha_core::{Error, ErrorKind};
use rustix::fs::{Mode, fchmod};
use rustix::net::sockopt::set_socket_passcred;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, SocketAddrUnix, bind, recvmsg, sendto,
};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// The time after which the thread notices that its datapath is gone.
const TICK: Duration = Duration::from_millis(200);

#[derive(Debug)]
struct Unix {
    socket: UnixDatagram,
    agent: SocketAddrUnix,
    /// The socket's own path, which is removed with it.
    own: PathBuf,
}

impl Link for Unix {
    fn send(&self, message: &[u8]) -> Result<(), Error> {
        match sendto(&self.socket, message, SendFlags::DONTWAIT, &self.agent) {
            Ok(_) => Ok(()),
            Err(error) => {
                let what = format!("the agent at {:?} takes no message: {error}", self.agent);
                Err(Error::new(ErrorKind::Unavailable, what).at("CCP"))
            }
        }
    }
}

impl Drop for Unix {
    fn drop(&mut self) {
        // Another process may have taken it since; then there is nothing left to remove that is ours.
        let _ = std::fs::remove_file(&self.own);
    }
}

/// Connects `own`, which is created, and which only the own user and root may write to, to the agent at `agent`, and receives on a
/// thread of its own until the datapath is dropped.
///
/// # Errors
/// If the socket can't be made.
pub(crate) fn connect(own: &Path, agent: &Path) -> Result<Arc<Datapath>, Error> {
    let failed = |what: &str, error: io::Error| {
        let what = format!("{what} {}: {error}", own.display());
        Error::new(ErrorKind::Io, what).because(error).at("CCP")
    };
    match std::fs::remove_file(own) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(failed("can't replace the socket", error));
        }
        _ => {}
    }
    let socket = bound(own).map_err(|error| failed("can't bind", error))?;
    socket.set_read_timeout(Some(TICK)).map_err(|error| failed("can't set the time-out of", error))?;
    let reader = socket.try_clone().map_err(|error| failed("can't duplicate", error))?;
    let address =
        SocketAddrUnix::new(agent).map_err(|error| failed("no address of an agent for", error.into()))?;
    let datapath = Datapath::new(Unix { socket, agent: address.clone(), own: own.to_owned() });
    let weak = Arc::downgrade(&datapath);
    std::thread::Builder::new()
        .name("ccp".to_owned())
        .spawn(move || receive(&reader, &address, &weak))
        .map_err(|error| failed("can't start a thread for", error))?;
    Ok(datapath)
}

/// A socket at `own`, with the user of the sender in each message.
fn bound(own: &Path) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    rights::refuse(&socket)?;
    set_socket_passcred(&socket, true)?;
    // Before there is a file, which then has these rights from the beginning.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(own)?)?;
    Ok(socket)
}

/// A message, and who has sent it.
struct Received {
    length: usize,
    /// The path to which the sender says it is bound. Each process has its own view of paths.
    path: Option<SocketAddrUnix>,
    /// The user of the sending process, for whom the kernel vouches.
    user: Option<u32>,
}

fn receive_one(socket: &UnixDatagram, bytes: &mut [u8]) -> io::Result<Received> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let user = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.uid.as_raw()),
        _ => None,
    });
    let path = received.address.and_then(|address| SocketAddrUnix::try_from(address).ok());
    Ok(Received { length: received.bytes, path, user })
}

/// Hands messages of the agent, and of nobody else, to the datapath.
fn receive(socket: &UnixDatagram, agent: &SocketAddrUnix, datapath: &Weak<Datapath>) {
    let own = rustix::process::geteuid().as_raw();
    let mut bytes = vec![0; MAX_MESSAGE];
    loop {
        let received = receive_one(socket, &mut bytes);
        let Some(datapath) = datapath.upgrade() else { return };
        match received {
            Ok(Received { length, path: Some(path), user: Some(user) })
                if path == *agent && (user == own || user == 0) =>
            {
                datapath.handle(&bytes[..length]);
            }
            Ok(Received { path, user, .. }) => {
                tracing::debug!(?path, ?user, "CCP: a message that is not of the agent was dropped")
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => {
                tracing::warn!(%error, "CCP: nothing can be received from the agent any more");
                return;
            }
        }
    }
}
