//! The memory that an agent shares with datapaths, for portus.

use super::AgentFlows;
use super::admission::Admission;
use crate::connect::MEMORY;
use crate::connect::memory::try_send;
use crate::connect::own_runtime::OwnRuntime;
use bertha_core::{Addr, Buf, Connection, Datapath, Error, ErrorKind, Listener};
use bertha_datapath_shm::{Shm, ShmConnection, ShmListener};
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// The longest time of a call to receive, after which portus looks if it has to stop.
const TICK: Duration = Duration::from_millis(200);

/// The pause after a datapath for which there was no descriptor.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum number of datapaths. Each takes a mebibyte of memory, which it touches bit by bit.
const MAX_DATAPATHS: usize = 1_024;

/// Maximum number of messages that wait for portus. The messages beyond wait in the rings of their datapaths.
const MAX_WAITING: usize = 256;

/// Maximum number of messages that are taken from a ring at a time.
const BURST: usize = 64;

/// The end of an agent that shares memory with its datapaths, for [`portus::ipc::BackendBuilder`]: as
/// [`AgentSocket`](super::AgentSocket), and for processes that connect with [`Ccp::shm`](crate::Ccp::shm).
///
/// Memory is shared with processes of the user of this process and of root alone. A message that portus could not
/// handle is dropped and counted; a datapath whose ring is full holds nobody up; and the flows of a datapath that
/// is gone are ended at once. At most 1,024 processes are served, and a process beyond finds no agent. Dropping the
/// value removes the socket at which datapaths connect.
#[derive(Debug)]
pub struct AgentMemory {
    /// Runs while portus waits for a message, on the thread of portus.
    runtime: OwnRuntime,
    shared: Arc<Shared>,
    admission: Admission,
}

#[derive(Debug, Default)]
struct Shared {
    connections: Mutex<HashMap<PathBuf, Arc<ShmConnection>>>,
    arrived: Mutex<VecDeque<(PathBuf, Arrived)>>,
    /// Told when something has arrived.
    arrival: Notify,
    /// Told when portus has taken what had arrived.
    room: Notify,
}

#[derive(Debug)]
enum Arrived {
    Message(Buf),
    /// The datapath has gone.
    End,
    /// The datapath was turned away, since there are too many.
    TooMany,
}

impl AgentMemory {
    /// Listens at `path`, whose folder is created, and where the socket of a process that is gone is replaced. Flows may
    /// request these `algorithms`, and others are left to their own controls; with an empty list the agent decides.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if a process listens there, and other errors of the system, with the path.
    pub fn bind(path: impl AsRef<Path>, algorithms: &[&str]) -> Result<Self, Error> {
        let path = path.as_ref();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| {
                let what = format!("can't listen for datapaths at {}: {error}", path.display());
                Error::new(ErrorKind::Io, what).because(error).at("CCP")
            })?;
        }
        let runtime = OwnRuntime::new()?;
        let shared = Arc::new(Shared::default());
        let listening = async {
            let listener = Shm::new().listen(Addr::Unix(path.to_owned())).await?;
            tokio::spawn(accept(listener, shared.clone()));
            Ok(())
        };
        // The caller may be on a thread of another runtime, where no runtime can wait.
        std::thread::scope(|scope| scope.spawn(|| runtime.block_on(listening)).join())
            .unwrap_or_default()
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Io, "can't listen for datapaths").at("CCP")))?;
        Ok(Self { runtime, shared, admission: Admission::new(algorithms) })
    }

    /// Returns the flows, for statistics.
    pub fn flows(&self) -> AgentFlows {
        self.admission.flows.clone()
    }

    /// Receives a message that portus can handle. Returns its length and its datapath, and `None` if none comes in time.
    fn receive(&self, bytes: &mut [u8]) -> Option<(usize, PathBuf)> {
        loop {
            if let Some(next) = self.admission.next(bytes) {
                return Some(next);
            }
            let arrived = self.shared.arrived.lock().pop_front();
            match arrived {
                Some((from, Arrived::Message(message))) => {
                    // Longer messages than portus has room for are of no datapath.
                    let Some(space) = bytes.get_mut(..message.len()) else {
                        self.admission.refuse(&from, "a message that is too long");
                        continue;
                    };
                    space.copy_from_slice(&message);
                    if self.admission.admits(&from, space) {
                        return Some((message.len(), from));
                    }
                }
                Some((from, Arrived::End)) => self.admission.end_flows_of(&from),
                Some((from, Arrived::TooMany)) => {
                    self.admission.refuse(&from, "too many datapaths for one agent")
                }
                None => {
                    self.shared.room.notify_waiters();
                    let arrival = async { timeout(TICK, self.shared.arrival.notified()).await };
                    self.runtime.block_on(arrival)?.ok()?;
                }
            }
        }
    }
}

impl portus::ipc::Ipc for AgentMemory {
    type Addr = PathBuf;

    fn name() -> String {
        "shm".to_owned()
    }

    /// Sends a message, unless the datapath takes none at the moment. Always succeeds: portus would end with the error.
    fn send(&self, message: &[u8], to: &PathBuf) -> portus::Result<()> {
        let connection = self.shared.connections.lock().get(to).cloned();
        let gone = || Error::new(ErrorKind::Unavailable, "the datapath has gone");
        let sent = connection.ok_or_else(gone).and_then(|connection| try_send(&connection, message));
        if !matches!(sent, Ok(true)) {
            tracing::debug!(datapath = %to.display(), ?sent, "CCP: a message to a datapath was dropped");
        }
        self.admission.on_sent(to, message, matches!(sent, Ok(true)));
        Ok(())
    }

    fn recv(&self, into: &mut [u8]) -> portus::Result<(usize, PathBuf)> {
        self.receive(into).ok_or_else(|| portus::Error("no message".to_owned()))
    }

    fn close(&mut self) -> portus::Result<()> {
        Ok(())
    }
}

/// Accepts datapaths, until the runtime ends.
async fn accept(listener: ShmListener, shared: Arc<Shared>) {
    let mut datapaths = JoinSet::new();
    let mut number = 0_u64;
    loop {
        let connection = match listener.accept().await {
            Ok(connection) => connection,
            // A descriptor may be free later.
            Err(error) if error.kind() == ErrorKind::Exhausted => {
                tracing::warn!(%error, "CCP: no datapath can connect for the moment");
                sleep(PAUSE).await;
                continue;
            }
            Err(error) => {
                tracing::error!(%error, "CCP: no datapath can connect any more");
                return;
            }
        };
        while datapaths.try_join_next().is_some() {}
        number += 1;
        let process = connection.peer_credentials().process.unwrap_or_default();
        let name = PathBuf::from(format!("{MEMORY}{process}-{number}"));
        if datapaths.len() >= MAX_DATAPATHS {
            shared.arrive([(name, Arrived::TooMany)]);
            continue;
        }
        let connection = Arc::new(connection);
        shared.connections.lock().insert(name.clone(), connection.clone());
        datapaths.spawn(serve(name, connection, shared.clone()));
    }
}

/// Receives from a datapath until it is gone.
async fn serve(name: PathBuf, connection: Arc<ShmConnection>, shared: Arc<Shared>) {
    let mut burst = Vec::with_capacity(BURST);
    loop {
        shared.has_room().await;
        if let Err(error) = connection.recv_batch(&mut burst, BURST).await {
            tracing::debug!(%error, datapath = %name.display(), "CCP: a datapath has ended its connection");
            break;
        }
        shared.arrive(burst.drain(..).map(|message| (name.clone(), Arrived::Message(message))));
    }
    shared.connections.lock().remove(&name);
    shared.arrive([(name, Arrived::End)]);
}

impl Shared {
    fn arrive(&self, arrived: impl IntoIterator<Item = (PathBuf, Arrived)>) {
        self.arrived.lock().extend(arrived);
        self.arrival.notify_one();
    }

    /// Waits while many messages wait for portus.
    async fn has_room(&self) {
        loop {
            let room = self.room.notified();
            if self.arrived.lock().len() < MAX_WAITING {
                return;
            }
            room.await;
        }
    }
}
