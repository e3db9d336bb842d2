//! An agent in this process: a thread that runs portus.

use crate::datapath::{Datapath, Link};
use bertha_core::{Error, ErrorKind};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Maximum number of messages that wait for the agent.
const MAX_WAITING: usize = 4_096;

/// Time after which the agent checks if it was told to stop.
const TICK: Duration = Duration::from_millis(100);

/// Time for which a datapath in [`Pace::Lockstep`] waits for an agent that may have stopped.
const AGENT_TIMEOUT: Duration = Duration::from_secs(10);

/// The pace of a datapath and an agent in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Each side goes on by itself: the datapath never waits.
    Free,
    /// The datapath waits until the agent has handled each message, so that a simulation gives the same
    /// result each time. This pace is never for real traffic.
    Lockstep,
}

#[derive(Debug, Default)]
struct Queue {
    messages: VecDeque<Vec<u8>>,
    /// True if the agent has handled all messages that it took, and waits for more.
    is_idle: bool,
    is_closed: bool,
    /// True if the datapath waits for the agent.
    is_lockstep: bool,
}

#[derive(Debug, Default)]
struct InProcessShared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug)]
struct Local {
    shared: Arc<InProcessShared>,
}

impl Link for Local {
    fn send(&self, message: &[u8]) -> Result<(), Error> {
        let mut queue = self.shared.queue.lock();
        let refuse = |kind, why| Err(Error::new(kind, why).at("CCP"));
        if queue.is_closed {
            return refuse(ErrorKind::Unavailable, "the agent in this process has ended");
        }
        if queue.messages.len() >= MAX_WAITING {
            return refuse(ErrorKind::Exhausted, "the agent in this process is too slow");
        }
        queue.messages.push_back(message.to_vec());
        self.shared.changed.notify_all();
        if queue.is_lockstep {
            let is_busy =
                |queue: &mut Queue| !queue.is_closed && (!queue.messages.is_empty() || !queue.is_idle);
            self.shared.changed.wait_while_for(&mut queue, is_busy, AGENT_TIMEOUT);
        }
        Ok(())
    }
}

/// The agent's end of a link in this process, for [`portus::ipc::BackendBuilder`].
#[derive(Debug)]
pub struct AgentEnd {
    shared: Arc<InProcessShared>,
    datapath: Weak<Datapath>,
}

/// Makes a datapath, and the agent's end of its link.
pub(crate) fn in_process(pace: Pace) -> (Arc<Datapath>, AgentEnd) {
    let shared = Arc::new(InProcessShared::default());
    let datapath = Datapath::new(Local { shared: shared.clone() });
    // The flag is set only now: the datapath has announced itself, and there is no agent yet that could
    // answer.
    shared.queue.lock().is_lockstep = pace == Pace::Lockstep;
    let agent = AgentEnd { shared, datapath: Arc::downgrade(&datapath) };
    (datapath, agent)
}

impl portus::ipc::Ipc for AgentEnd {
    type Addr = ();

    fn name() -> String {
        "process".to_owned()
    }

    fn send(&self, message: &[u8], (): &()) -> portus::Result<()> {
        let datapath = self.datapath.upgrade();
        let datapath = datapath.ok_or_else(|| portus::Error("the datapath is gone".to_owned()))?;
        datapath.handle(message);
        Ok(())
    }

    /// Waits for a message, for at most a tenth of a second. A message that does not fit is dropped; no
    /// datapath sends one.
    fn recv(&self, into: &mut [u8]) -> portus::Result<(usize, ())> {
        let mut queue = self.shared.queue.lock();
        queue.is_idle = true;
        self.shared.changed.notify_all();
        self.shared.changed.wait_while_for(&mut queue, |queue| queue.messages.is_empty(), TICK);
        let nothing = || portus::Error("no message".to_owned());
        let message = queue.messages.pop_front().ok_or_else(nothing)?;
        queue.is_idle = false;
        drop(queue);
        let space = into.get_mut(..message.len()).ok_or_else(nothing)?;
        space.copy_from_slice(&message);
        Ok((message.len(), ()))
    }

    fn close(&mut self) -> portus::Result<()> {
        self.shared.queue.lock().is_closed = true;
        self.shared.changed.notify_all();
        Ok(())
    }
}

impl Drop for AgentEnd {
    fn drop(&mut self) {
        self.shared.queue.lock().is_closed = true;
        self.shared.changed.notify_all();
    }
}
