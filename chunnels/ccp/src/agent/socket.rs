//! The socket of an agent, for portus.

use super::AgentFlows;
use super::admission::Admission;
use crate::connect::{GuardedSocket, OwnPath, is_nothing};
use bertha_core::{Error, ErrorKind};
use rustix::net::SocketAddrUnix;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest time of a call to receive, after which portus looks if it has to stop.
const TICK: Duration = Duration::from_millis(200);

/// The socket of an agent, for [`portus::ipc::BackendBuilder`], in place of portus' own socket: at any path, and for an agent
/// that has to outlive every datapath.
///
/// Only processes of the user of this process and of root can reach the agent. A message that portus could not
/// handle is dropped and counted; a datapath that takes no message, since it is stopped or gone, holds nobody
/// up; and the flows of a datapath that is gone are ended within a few seconds. Dropping the socket removes it.
///
/// ```no_run
/// use bertha_ccp::{AgentSocket, algorithms::Cubic};
/// use portus::{RunBuilder, ipc::BackendBuilder};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sock = AgentSocket::bind("/tmp/ccp/portus", &[])?;
/// let flows = sock.flows();
/// let agent = RunBuilder::new(BackendBuilder { sock }).default_alg(Cubic::default()).spawn_thread().run();
/// println!("{:?}", flows.status());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct AgentSocket {
    socket: GuardedSocket,
    _own: OwnPath,
    admission: Admission,
}

impl AgentSocket {
    /// Listens at `path`, whose folder is created, and where the socket of a process that is gone is replaced, and nothing else. Flows may
    /// request these `algorithms`, and others are left to their own controls; with an empty list the agent decides.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if a process listens there, [`Io`](ErrorKind::Io) if the socket can't be made.
    pub fn bind(path: impl AsRef<Path>, algorithms: &[&str]) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let failed = |error: io::Error| {
            let path = path.display();
            let (kind, what) = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    (ErrorKind::AddrInUse, format!("an agent, or another program, listens at {path} already"))
                }
                io::ErrorKind::PermissionDenied => {
                    let hint = "the folder may be of another user; choose another path for the socket";
                    (ErrorKind::Io, format!("can't listen for datapaths at {path}: {error}; {hint}"))
                }
                _ => (ErrorKind::Io, format!("can't listen for datapaths at {path}: {error}")),
            };
            Error::new(kind, what).because(error).at("CCP")
        };
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        OwnPath::vacate(&path).map_err(failed)?;
        let socket = GuardedSocket::bind(&path, TICK).map_err(failed)?;
        let own = OwnPath::bound(&path);
        Ok(Self { socket, _own: own, admission: Admission::new(algorithms) })
    }

    /// Returns the flows, for statistics.
    pub fn flows(&self) -> AgentFlows {
        self.admission.flows.clone()
    }

    /// Receives a message that portus can handle. Returns its length, and its datapath.
    fn receive(&self, bytes: &mut [u8]) -> io::Result<(usize, PathBuf)> {
        self.end_flows_of_vanished();
        loop {
            if let Some(next) = self.admission.next(bytes) {
                return Ok(next);
            }
            let received = self.socket.recv(bytes)?;
            let from = received.path.as_ref().and_then(path_of).filter(|_| received.is_trusted());
            let Some(from) = from else {
                self.admission.refuse(&received, "a message without an address, or of another user");
                continue;
            };
            if self.admission.admits(&from, &bytes[..received.length]) {
                return Ok((received.length, from));
            }
        }
    }

    /// Ends the flows of datapaths that are gone.
    fn end_flows_of_vanished(&self) {
        let silent = self.admission.flows.0.lock().silent(Instant::now());
        for datapath in silent.iter().filter(|datapath| !is_somebody_at(datapath)) {
            self.admission.end_flows_of(datapath);
        }
    }
}

impl portus::ipc::Ipc for AgentSocket {
    type Addr = PathBuf;

    fn name() -> String {
        "unix".to_owned()
    }

    /// Sends a message, unless the datapath takes none at the moment. Always succeeds: portus would end with the error.
    fn send(&self, message: &[u8], to: &PathBuf) -> portus::Result<()> {
        let sent =
            SocketAddrUnix::new(to).map_err(io::Error::from).and_then(|to| self.socket.send(message, &to));
        if let Err(error) = &sent {
            tracing::debug!(datapath = %to.display(), %error, "CCP: a message to a datapath was dropped");
        }
        self.admission.on_sent(to, message, sent.is_ok());
        Ok(())
    }

    fn recv(&self, into: &mut [u8]) -> portus::Result<(usize, PathBuf)> {
        self.receive(into).map_err(|error| {
            if !is_nothing(&error) {
                tracing::warn!(%error, "CCP: a message of a datapath was lost");
            }
            portus::Error(error.to_string())
        })
    }

    fn close(&mut self) -> portus::Result<()> {
        Ok(())
    }
}

/// Returns true if a socket is bound at `path`.
fn is_somebody_at(path: &Path) -> bool {
    UnixDatagram::unbound().is_ok_and(|probe| probe.connect(path).is_ok())
}

fn path_of(address: &SocketAddrUnix) -> Option<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    address.path_bytes().filter(|path| !path.is_empty()).map(|path| PathBuf::from(OsStr::from_bytes(path)))
}
