//! An agent behind shared memory.

use super::MEMORY;
use super::own_runtime::OwnRuntime;
use crate::datapath::{Datapath, Link};
use bertha_core::{Addr, Buf, Connection, Datapath as _, Error, ErrorKind};
use bertha_datapath_shm::{Shm, ShmConnection};
use parking_lot::Mutex;
use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Weak, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{interval, sleep};

/// Time between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(200);

/// Time between two attempts to tell the agent the ends of flows that it did not take.
const TICK: Duration = Duration::from_millis(200);

/// Maximum time for which the caller waits for the first attempt: an agent that is there takes it in less than a
/// millisecond.
const FIRST: Duration = Duration::from_millis(100);

/// Maximum number of messages that are handled between two looks at the end.
const BURST: usize = 64;

/// The state of the connection.
#[derive(Debug)]
enum State {
    /// The first attempt goes on.
    New,
    Connected(Arc<ShmConnection>),
    /// There is no agent, for this reason.
    Gone(Error),
}

struct Memory {
    /// Locked for each report, which a flow sends once in a round trip, and by the thread when the state changes.
    state: Arc<Mutex<State>>,
    /// The path of the agent, for people.
    path: PathBuf,
    /// Ends the thread when it is dropped.
    _end: oneshot::Sender<Infallible>,
}

impl Link for Memory {
    fn send(&self, message: &[u8]) -> Result<(), Error> {
        let refused = |kind, reason: &dyn fmt::Display| {
            Error::new(kind, format!("the agent at {} takes no message: {reason}", self.agent())).at("CCP")
        };
        let connection = match &*self.state.lock() {
            State::Connected(connection) => connection.clone(),
            State::New => return Err(refused(ErrorKind::Exhausted, &"it is being connected")),
            State::Gone(error) => return Err(refused(ErrorKind::Unavailable, error)),
        };
        match try_send(&connection, message) {
            Ok(true) => Ok(()),
            Ok(false) => Err(refused(ErrorKind::Exhausted, &"the ring is full")),
            Err(error) => Err(refused(ErrorKind::Unavailable, &error)),
        }
    }

    fn agent(&self) -> String {
        format!("{MEMORY}{}", self.path.display())
    }
}

/// Puts a message into the ring, and never waits. Returns false if the ring has no room.
///
/// # Errors
/// Errors of the connection.
pub(crate) fn try_send(connection: &ShmConnection, message: &[u8]) -> Result<bool, Error> {
    // A message lies in the ring whole or not at all, so a future that waits for room can be dropped.
    let sending = pin!(connection.send(Buf::copy_of(message, 0)?));
    match sending.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(sent) => sent.map(|()| true),
        Poll::Pending => Ok(false),
    }
}

/// Connects to the agent that listens at `agent` for clients that share memory, and receives on a thread of its own until
/// the datapath is dropped. While there is no agent, the thread tries again and again.
///
/// # Errors
/// [`Io`](ErrorKind::Io) if the thread can't be started.
pub(crate) fn connect(agent: &Path) -> Result<Arc<Datapath>, Error> {
    let runtime = OwnRuntime::new()?;
    let state = Arc::new(Mutex::new(State::New));
    let (end, ended) = oneshot::channel();
    let (tell, told) = mpsc::channel();
    let path = agent.to_owned();
    let shared = state.clone();
    let attempting = Attempting { agent: Addr::Unix(path.clone()), state: shared, first: Some(tell) };
    let (give, given) = oneshot::channel();
    let thread = std::thread::Builder::new().name("ccp".to_owned());
    let started = thread.spawn(move || {
        runtime.block_on(async {
            // The reactor wakes a task of its own thread without a system call, and the outermost future with one.
            tokio::spawn(attempting.run(given));
            // The sender is dropped with the datapath, and sends nothing.
            let _is_over = ended.await;
        });
    });
    started.map_err(|error| {
        let what = format!("can't start a thread for the agent at {}: {error}", agent.display());
        Error::new(ErrorKind::Io, what).because(error).at("CCP")
    })?;
    // The first message of the datapath then has a ring.
    let _may_take_longer = told.recv_timeout(FIRST);
    let datapath = Datapath::new(Memory { state, path, _end: end });
    // The thread ends before only if it panicked.
    let _is_taken = give.send(Arc::downgrade(&datapath));
    Ok(datapath)
}

/// The work of the thread.
struct Attempting {
    agent: Addr,
    state: Arc<Mutex<State>>,
    /// Tells the caller that the first attempt is over.
    first: Option<mpsc::Sender<()>>,
}

impl Attempting {
    async fn run(mut self, datapath: oneshot::Receiver<Weak<Datapath>>) {
        let mut datapath = Datapaths::Coming(datapath);
        loop {
            // The agent sees a process of the same user or of root, and so does this end: `Users::Same`.
            let error = match Shm::new().connect(self.agent.clone()).await {
                Ok(connection) => {
                    let connection = Arc::new(connection);
                    self.is(State::Connected(connection.clone()));
                    let Some(datapath) = datapath.get().await else { return };
                    match receive(&connection, &datapath).await {
                        Some(error) => error,
                        None => return,
                    }
                }
                Err(error) => error,
            };
            tracing::debug!(%error, agent = %self.agent, "CCP: no memory is shared with the agent");
            self.is(State::Gone(error));
            sleep(PAUSE).await;
        }
    }

    fn is(&mut self, state: State) {
        *self.state.lock() = state;
        if let Some(first) = self.first.take() {
            // The caller may have waited long enough.
            let _is_told = first.send(());
        }
    }
}

/// The datapath, which is made while the first attempt goes on.
enum Datapaths {
    Coming(oneshot::Receiver<Weak<Datapath>>),
    Here(Weak<Datapath>),
}

impl Datapaths {
    /// Waits for the datapath. `None` if its maker has gone.
    async fn get(&mut self) -> Option<Weak<Datapath>> {
        if let Self::Coming(coming) = self {
            *self = Self::Here(coming.await.ok()?);
        }
        match self {
            Self::Here(datapath) => Some(datapath.clone()),
            Self::Coming(_) => None,
        }
    }
}

/// Hands messages of the agent to the datapath. Returns the reason why the connection has ended, and `None` if the
/// datapath is gone.
async fn receive(connection: &ShmConnection, datapath: &Weak<Datapath>) -> Option<Error> {
    let mut ticks = interval(TICK);
    let mut burst = Vec::with_capacity(BURST);
    loop {
        tokio::select! {
            biased;
            received = connection.recv_batch(&mut burst, BURST) => {
                let datapath = datapath.upgrade()?;
                for message in burst.drain(..) {
                    datapath.handle(&message);
                }
                datapath.tell_ends();
                if let Err(error) = received {
                    return Some(error);
                }
            }
            _ = ticks.tick() => datapath.upgrade()?.tell_ends(),
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("agent", &self.path).finish_non_exhaustive()
    }
}
