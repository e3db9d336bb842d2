//! The memory that an agent shares with datapaths, for portus.

use super::AgentFlows;
use super::admission::Admission;
use super::places::{Full, Places};
use crate::connect::MEMORY;
use crate::connect::memory::try_send;
use crate::connect::own_runtime::OwnRuntime;
use bertha_core::{Addr, Buf, Connection, Datapath, Error, ErrorKind, Listener};
use bertha_datapath_shm::{Shm, ShmConnection, ShmListener};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
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
/// is gone are ended at once. At most 1,024 processes are served: a process beyond takes the place of
/// the oldest process without a flow, which may connect again, and finds no agent if all have flows. Dropping the
/// value removes the socket at which datapaths connect.
#[derive(Debug)]
pub struct AgentMemory {
    /// Runs while portus waits for a message, on the thread of portus.
    runtime: OwnRuntime,
    shared: Arc<Shared>,
    admission: Admission,
}

#[derive(Debug)]
struct Shared {
    datapaths: Mutex<Places<Served>>,
    arrived: Mutex<VecDeque<(PathBuf, Arrived)>>,
    /// Told when something has arrived.
    arrival: Notify,
    /// Told when portus has taken what had arrived.
    room: Notify,
}

/// A datapath that has a place.
#[derive(Debug)]
struct Served {
    connection: Arc<ShmConnection>,
    /// The task that receives from the datapath.
    task: AbortHandle,
}

#[derive(Debug)]
enum Arrived {
    Message(Buf),
    /// The datapath has gone.
    End,
    /// The datapath was turned away, since there are too many with flows.
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
        let shared = Arc::new(Shared::new(MAX_DATAPATHS));
        let admission = Admission::new(algorithms);
        let listening = async {
            let listener = Shm::new().listen(Addr::Unix(path.to_owned())).await?;
            tokio::spawn(accept(listener, shared.clone(), admission.flows.clone()));
            Ok(())
        };
        // The caller may be on a thread of another runtime, where no runtime can wait.
        std::thread::scope(|scope| scope.spawn(|| runtime.block_on(listening)).join())
            .unwrap_or_default()
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Io, "can't listen for datapaths").at("CCP")))?;
        Ok(Self { runtime, shared, admission })
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
        let connection = self.shared.datapaths.lock().get(to).map(|served| served.connection.clone());
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
async fn accept(listener: ShmListener, shared: Arc<Shared>, flows: AgentFlows) {
    let mut tasks = JoinSet::new();
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
        while tasks.try_join_next().is_some() {}
        number += 1;
        let process = connection.peer_credentials().process.unwrap_or_default();
        let name = PathBuf::from(format!("{MEMORY}{process}-{number}"));
        if shared.make_room(&flows).is_err() {
            shared.arrive([(name, Arrived::TooMany)]);
            continue;
        }
        let connection = Arc::new(connection);
        let task = tasks.spawn(serve(name.clone(), connection.clone(), shared.clone()));
        shared.datapaths.lock().add(name, Served { connection, task });
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
    shared.datapaths.lock().remove(&name);
    shared.arrive([(name, Arrived::End)]);
}

impl Shared {
    /// Has places for so many datapaths.
    fn new(most: usize) -> Self {
        Self {
            datapaths: Mutex::new(Places::new(most)),
            arrived: Mutex::default(),
            arrival: Notify::new(),
            room: Notify::new(),
        }
    }

    /// Makes room for a datapath: ends the connection of a datapath that has no flow, if all places are taken.
    ///
    /// # Errors
    /// [`Full`] if all datapaths have flows.
    fn make_room(&self, flows: &AgentFlows) -> Result<(), Full> {
        let flows = flows.0.lock();
        let removed = self.datapaths.lock().make_room(|datapath| flows.has_flow(datapath))?;
        if let Some((datapath, Served { task, .. })) = removed {
            tracing::debug!(datapath = %datapath.display(), "CCP: a datapath without a flow has made room");
            task.abort();
            // A message of it may wait for portus.
            self.arrive([(datapath, Arrived::End)]);
        }
        Ok(())
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the next that arrives: the number of a datapath, and the end of its connection.
    async fn arrival(shared: &Shared) -> (Option<char>, Arrived) {
        loop {
            let arrived = shared.arrived.lock().pop_front();
            match arrived {
                Some((name, arrived)) => return (name.to_string_lossy().chars().next_back(), arrived),
                None => shared.arrival.notified().await,
            }
        }
    }

    #[tokio::test]
    async fn a_silent_datapath_makes_room_for_a_newcomer() {
        let folder = tempfile::tempdir().unwrap();
        let at = Addr::Unix(folder.path().join("agent"));
        let listener = Shm::new().listen(at.clone()).await.unwrap();
        let shared = Arc::new(Shared::new(2));
        tokio::spawn(accept(listener, shared.clone(), Admission::new(&[]).flows));
        let connect = || async { Shm::new().connect(at.clone()).await.unwrap() };
        let [first, second, third] = [connect().await, connect().await, connect().await];
        let (number, arrived) = arrival(&shared).await;
        assert!(number == Some('1') && matches!(arrived, Arrived::End), "{number:?} {arrived:?}");
        first.recv().await.unwrap_err();
        for (number, datapath) in [('2', &second), ('3', &third)] {
            datapath.send(Buf::copy_of(&[0], 0).unwrap()).await.unwrap();
            let (from, arrived) = arrival(&shared).await;
            assert!(from == Some(number) && matches!(arrived, Arrived::Message(_)), "{from:?} {arrived:?}");
        }
    }
}
