//! The programs and flows that one agent sees.

mod link;

pub use link::Link;

use crate::message::{Create, Measure, Message, Ready};
use crate::{Flow, Program, Refused, Signal, SignalSet};
use bertha_core::Error;
use bertha_core::log_pause::LogPause;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Maximum number of programs that are held.
const MAX_PROGRAMS: usize = 64;

/// Maximum number of ended flows that the agent has still to be told.
const MAX_UNTOLD: usize = 1_024;

/// The program that a new agent installs first: programs before it are from an agent that is gone.
const FIRST_PROGRAM: u32 = 1;

/// The signals of a transport that knows how many packets routers marked.
pub(crate) const WITH_MARKS: SignalSet = SignalSet::ALL;

/// The signals of any other transport.
pub(crate) const WITHOUT_MARKS: SignalSet = WITH_MARKS.without(Signal::EcnBytes).without(Signal::EcnPackets);

/// The programs and flows that one agent sees, and the link to it.
#[derive(Debug)]
pub struct Datapath {
    link: Box<dyn Link>,
    table: Mutex<Table>,
    /// Number of the agent's messages that were malformed or refused.
    dropped: AtomicU64,
    /// The pause between two lines about these.
    pause: Mutex<LogPause>,
    /// The pause between two warnings about flows that have no agent: strangers may begin flows, of the kernel's TCP for instance.
    absence: Mutex<LogPause>,
}

#[derive(Debug, Default)]
struct Table {
    programs: HashMap<u32, Result<Arc<Program>, Refused>>,
    /// The signals that programs lacked when they were chosen for a flow.
    missing: HashMap<u32, SignalSet>,
    flows: HashMap<u32, Arc<Member>>,
    last_flow: u32,
    /// Flows whose end the agent did not take, the oldest first.
    untold: VecDeque<u32>,
}

/// The part of a flow that an agent reaches.
#[derive(Debug)]
pub(crate) struct Member {
    /// The signals of its transport.
    signals: SignalSet,
    /// Locked for each acknowledgement, and for each message of the agent; never while a message is sent.
    pub(crate) flow: Mutex<Flow>,
    /// Number of messages for this flow.
    pub(crate) messages: AtomicU64,
    /// True if the agent controls the flow, and not the control that stands in for it.
    pub(crate) is_by_agent: AtomicBool,
}

impl Member {
    /// Makes a flow over a transport with these signals.
    pub(crate) fn new(signals: SignalSet) -> Self {
        Self {
            signals,
            flow: Mutex::default(),
            messages: AtomicU64::new(0),
            is_by_agent: AtomicBool::new(false),
        }
    }
}

/// The numbers of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CcpStatistics {
    /// Number of flows.
    pub flows: usize,
    /// Number of flows that the agent controls; [`NewReno`](bertha_chunnels::congestion::NewReno) controls the
    /// others.
    pub by_agent: usize,
    /// Number of the agent's messages that were malformed or refused.
    pub dropped: u64,
}

/// A program that the agent installed and that is not run, or not run for a flow whose transport lacks
/// signals that the program reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refusal {
    /// The agent's number for the program.
    pub program: u32,
    /// The reason.
    pub reason: Refused,
}

impl Datapath {
    /// Makes a datapath whose agent is behind `link`.
    pub fn new(link: impl Link) -> Arc<Self> {
        let datapath = Self {
            link: Box::new(link),
            table: Mutex::default(),
            dropped: AtomicU64::new(0),
            pause: Mutex::default(),
            absence: Mutex::default(),
        };
        let mut message = Vec::new();
        Ready { id: std::process::id() }.encode(&mut message);
        // An agent that comes later learns of the datapath from its first flow.
        if let Err(error) = datapath.link.send(&message) {
            tracing::debug!(%error, "CCP: no agent yet");
        }
        Arc::new(datapath)
    }

    /// Handles one message of the agent, or several behind one another. Changes take effect at the next
    /// acknowledgement of a flow. A message that is malformed, refused or for a flow that is over is logged
    /// and dropped, together with the messages behind it.
    pub fn handle(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let handled = match Message::decode(bytes) {
                Ok((message, length)) => {
                    bytes = &bytes[length..];
                    self.handle_message(message)
                }
                Err(malformed) => {
                    bytes = &[];
                    Err(malformed.into())
                }
            };
            if let Err(error) = handled {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                if self.pause.lock().is_over(Some(Instant::now())) {
                    let agent = self.agent();
                    tracing::warn!(%error, agent, "CCP: a message of the agent was dropped; for a second, others are counted alone");
                }
            }
        }
    }

    /// Returns true if a flow may warn that it has no agent: one flow in a second.
    pub(crate) fn may_tell_absence(&self) -> bool {
        self.absence.lock().is_over(Some(Instant::now()))
    }

    /// Returns the programs that the agent installed and that are not run, with the reasons.
    pub fn refusals(&self) -> Vec<Refusal> {
        let table = self.table.lock();
        let unloaded = table.programs.iter().filter_map(|(program, loaded)| {
            loaded.as_ref().err().map(|reason| Refusal { program: *program, reason: *reason })
        });
        let missing = table.missing.iter().map(|(program, signals)| Refusal {
            program: *program,
            reason: Refused::MissingSignals(*signals),
        });
        unloaded.chain(missing).collect()
    }

    /// Returns the numbers of flows.
    pub(crate) fn statistics(&self) -> CcpStatistics {
        let table = self.table.lock();
        let by_agent = table.flows.values().filter(|member| member.is_by_agent.load(Ordering::Relaxed));
        let dropped = self.dropped.load(Ordering::Relaxed);
        CcpStatistics { flows: table.flows.len(), by_agent: by_agent.count(), dropped }
    }

    /// Returns a name of the agent, for the log.
    pub(crate) fn agent(&self) -> String {
        self.link.agent()
    }

    fn handle_message(&self, message: Message) -> Result<(), Error> {
        match message {
            Message::Install(install) => {
                let loaded = load(&install);
                let mut table = self.table.lock();
                if install.program == FIRST_PROGRAM {
                    table.programs.clear();
                    table.missing.clear();
                }
                if table.programs.len() >= MAX_PROGRAMS && !table.programs.contains_key(&install.program) {
                    return Err(refused(install.program, Refused::TableFull { limit: MAX_PROGRAMS }));
                }
                table.programs.insert(install.program, loaded.clone());
                loaded.map(drop).map_err(|reason| refused(install.program, reason))
            }
            Message::Update(update) => {
                self.member(update.flow, |member| member.flow.lock().update(&update.fields));
                Ok(())
            }
            Message::Change(change) => {
                let loaded = self.table.lock().programs.get(&change.program).cloned();
                let loaded = loaded.ok_or_else(|| unknown(change.program))?;
                let program = loaded.map_err(|reason| refused(change.program, reason))?;
                let mut missing = SignalSet::default();
                self.member(change.flow, |member| {
                    missing = program.reads().missing_in(member.signals);
                    if missing.is_empty() {
                        member.flow.lock().change(program, &change.fields);
                    }
                });
                if missing.is_empty() {
                    return Ok(());
                }
                self.table.lock().missing.insert(change.program, missing);
                Err(refused(change.program, Refused::MissingSignals(missing)))
            }
            Message::Create(_) | Message::Measure(_) | Message::Ready(_) => {
                let what = "an agent sent what only datapaths send";
                Err(Error::new(bertha_core::ErrorKind::Malformed, what).at("CCP"))
            }
        }
    }

    fn member(&self, flow: u32, change: impl FnOnce(&Member)) {
        // A flow may have ended in the meantime.
        let Some(member) = self.table.lock().flows.get(&flow).cloned() else { return };
        change(&member);
        member.messages.fetch_add(1, Ordering::Release);
    }

    /// Adds a flow, and returns its number.
    pub(crate) fn join(&self, member: Arc<Member>) -> u32 {
        let mut table = self.table.lock();
        loop {
            table.last_flow = table.last_flow.wrapping_add(1);
            let flow = table.last_flow;
            if flow != 0 && !table.flows.contains_key(&flow) {
                table.flows.insert(flow, member);
                return flow;
            }
        }
    }

    /// Removes a flow, and tells the agent. If the agent takes no message at the moment, it is told
    /// [later](Self::tell_ends).
    pub(crate) fn leave(&self, flow: u32) {
        self.table.lock().flows.remove(&flow);
        if !self.tell_end(flow) {
            let mut table = self.table.lock();
            if table.untold.len() >= MAX_UNTOLD {
                table.untold.pop_front();
            }
            table.untold.push_back(flow);
        }
    }

    /// Tells the agent the ends of flows that it did not take. An agent that is gone needs none of them.
    pub(crate) fn tell_ends(&self) {
        let untold = std::mem::take(&mut self.table.lock().untold);
        let mut untold = untold.into_iter();
        let refused = untold.find(|flow| !self.tell_end(*flow));
        let mut table = self.table.lock();
        for flow in untold.rev().chain(refused) {
            table.untold.push_front(flow);
        }
    }

    fn tell_end(&self, flow: u32) -> bool {
        let mut message = Vec::new();
        Measure::encode_fields(flow, 0, &[], &mut message).is_ok() && self.send(&message).is_ok()
    }

    /// Announces a flow to the agent.
    ///
    /// # Errors
    /// Fails if the message could not be handed over.
    pub(crate) fn announce(&self, create: &Create) -> Result<(), Error> {
        let mut message = Vec::new();
        create.encode(&mut message);
        self.send(&message)
    }

    /// Sends a message.
    ///
    /// # Errors
    /// Errors of the [`Link`].
    pub(crate) fn send(&self, message: &[u8]) -> Result<(), Error> {
        self.link
            .send(message)
            .inspect_err(|error| tracing::debug!(%error, "CCP: a message to the agent was dropped"))
    }
}

fn load(install: &crate::message::Install) -> Result<Arc<Program>, Refused> {
    Program::load(install).map(Arc::new)
}

/// Returns the error of a program that is not run, by its number: an agent has many.
fn refused(program: u32, reason: Refused) -> Error {
    let error = Error::from(reason);
    let what = format!("program {program} of the agent is refused: {}", error.context());
    error.retold(what)
}

fn unknown(program: u32) -> Error {
    let what = format!("the agent chose program {program}, which it has not installed");
    Error::new(bertha_core::ErrorKind::Invalid, what).at("CCP")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::ErrorKind;
    use std::sync::atomic::AtomicUsize;

    /// An agent that takes a number of messages, and the flows whose ends it was told.
    #[derive(Debug, Clone, Default)]
    struct Reluctant {
        takes: Arc<AtomicUsize>,
        ended: Arc<Mutex<Vec<u32>>>,
    }

    impl Link for Reluctant {
        fn send(&self, message: &[u8]) -> Result<(), Error> {
            let refuse = |_| Error::new(ErrorKind::Unavailable, "the agent takes nothing");
            let less = |takes: usize| takes.checked_sub(1);
            self.takes.try_update(Ordering::Relaxed, Ordering::Relaxed, less).map_err(refuse)?;
            if let Ok((Message::Measure(Measure { flow, .. }), _)) = Message::decode(message) {
                self.ended.lock().push(flow);
            }
            Ok(())
        }
    }

    #[test]
    fn ends_that_the_agent_did_not_take_are_told_later_in_their_order() {
        let agent = Reluctant::default();
        let datapath = Datapath::new(agent.clone());
        (1..=5).for_each(|flow| datapath.leave(flow));
        agent.takes.store(2, Ordering::Relaxed);
        datapath.tell_ends();
        assert_eq!(*agent.ended.lock(), [1, 2]);
        agent.takes.store(100, Ordering::Relaxed);
        datapath.tell_ends();
        datapath.tell_ends();
        assert_eq!(*agent.ended.lock(), [1, 2, 3, 4, 5]);
        agent.takes.store(0, Ordering::Relaxed);
        (0..2 * MAX_UNTOLD as u32).for_each(|flow| datapath.leave(flow));
        assert_eq!(datapath.table.lock().untold.len(), MAX_UNTOLD);
    }
}
