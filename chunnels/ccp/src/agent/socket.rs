//! The socket of an agent, for portus.

use super::flows::{FlowTable, Refused};
use super::{AgentTotals, FlowStatus};
use crate::connect::{GuardedSocket, OwnPath, is_nothing};
use crate::message::{Create, Malformed, Measure, Message, Ready};
use bertha_core::log_pause::LogPause;
use bertha_core::{Error, ErrorKind};
use parking_lot::Mutex;
use rustix::net::SocketAddrUnix;
use std::collections::VecDeque;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
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
/// let agent = RunBuilder::new(BackendBuilder { sock }).default_alg(Cubic).spawn_thread().run();
/// println!("{:?}", flows.status());
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct AgentSocket {
    socket: GuardedSocket,
    _own: OwnPath,
    flows: AgentFlows,
    /// Messages that come before those in the socket.
    next: Mutex<VecDeque<(Vec<u8>, PathBuf)>>,
    /// The pause between two lines about refused messages.
    pause: Mutex<LogPause>,
}

/// The flows of an agent, for other threads than the agent's.
#[derive(Debug, Clone)]
pub struct AgentFlows(Arc<Mutex<FlowTable>>);

impl AgentFlows {
    /// Returns all flows, by datapath and number.
    pub fn status(&self) -> Vec<FlowStatus> {
        self.0.lock().status()
    }

    /// Returns the counters.
    pub fn totals(&self) -> AgentTotals {
        self.0.lock().totals
    }
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
        let algorithms = algorithms.iter().map(ToString::to_string).collect();
        let flows = AgentFlows(Arc::new(Mutex::new(FlowTable::new(algorithms))));
        Ok(Self { socket, _own: own, flows, next: Mutex::default(), pause: Mutex::default() })
    }

    /// Returns the flows, for statistics.
    pub fn flows(&self) -> AgentFlows {
        self.flows.clone()
    }

    /// Receives a message that portus can handle. Returns its length, and its datapath.
    fn receive(&self, bytes: &mut [u8]) -> io::Result<(usize, PathBuf)> {
        self.end_flows_of_vanished();
        loop {
            if let Some((message, from)) = self.next.lock().pop_front()
                && let Some(space) = bytes.get_mut(..message.len())
            {
                space.copy_from_slice(&message);
                return Ok((message.len(), from));
            }
            let received = self.socket.recv(bytes)?;
            let from = received.path.as_ref().and_then(path_of).filter(|_| received.is_trusted());
            let arrived = &bytes[..received.length];
            let Some(from) = from else {
                self.refuse(&received, "a message without an address, or of another user");
                continue;
            };
            match self.judge(&from, arrived) {
                // Installing the programs again ends the flows, which the datapath then announces again.
                Ok(()) if self.flows.0.lock().needs_programs(&from) => {
                    self.next.lock().push_back((ready(), from));
                }
                Ok(()) => return Ok((received.length, from)),
                Err(reason) => self.refuse(&from, &reason),
            }
        }
    }

    /// Checks all messages in `arrived`.
    fn judge(&self, from: &Path, mut arrived: &[u8]) -> Result<(), String> {
        if arrived.is_empty() {
            return Err("an empty message".to_owned());
        }
        while !arrived.is_empty() {
            let (message, length) = Message::decode(arrived).map_err(|error: Malformed| error.to_string())?;
            let mut flows = self.flows.0.lock();
            flows.on_message(from, &message, Instant::now()).map_err(|refused| {
                match (refused, &message) {
                    (Refused::UnknownAlgorithm, Message::Create(create)) => {
                        unknown(create, flows.algorithms())
                    }
                    (Refused::TooManyFlows, _) => "too many flows for one agent".to_owned(),
                    _ => "a message that only agents send".to_owned(),
                }
            })?;
            arrived = &arrived[length..];
        }
        Ok(())
    }

    fn refuse(&self, from: &dyn std::fmt::Debug, reason: &str) {
        self.flows.0.lock().totals.refused += 1;
        if self.pause.lock().is_over(Some(Instant::now())) {
            tracing::warn!(
                ?from,
                reason,
                "CCP: a message of a datapath was dropped; for a second, others are counted alone"
            );
        }
    }

    /// Ends the flows of datapaths that are gone, which could not say so.
    fn end_flows_of_vanished(&self) {
        let silent = self.flows.0.lock().silent(Instant::now());
        for datapath in silent {
            if is_somebody_at(&datapath) {
                continue;
            }
            let ended = self.flows.0.lock().forget(&datapath);
            if !ended.is_empty() {
                tracing::info!(datapath = %datapath.display(), flows = ended.len(), "CCP: a datapath has vanished");
            }
            let messages = ended.into_iter().filter_map(end);
            self.next.lock().extend(messages.map(|message| (message, datapath.clone())));
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
        if let Ok((message, _)) = Message::decode(message) {
            self.flows.0.lock().on_sent(to, &message, sent.is_ok());
        }
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

fn unknown(create: &Create, known: &[String]) -> String {
    let flow = create.flow;
    let name = create.algorithm.as_str().unwrap_or("(no text)");
    format!(
        "flow {flow} requests the algorithm `{}`, and this agent has {}",
        name.escape_debug(),
        known.join(", ")
    )
}

fn ready() -> Vec<u8> {
    let mut message = Vec::new();
    Ready { id: 0 }.encode(&mut message);
    message
}

/// Returns the message that ends a flow.
fn end(flow: u32) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    Measure::encode_fields(flow, 0, &[], &mut message).ok()?;
    Some(message)
}
