//! The flows of an agent, by their datapaths. Sans-IO.

use crate::message::{Create, Field, Message, Register};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::iter::Sum;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Maximum number of flows of an agent. The flows beyond are left to their own controls.
const MAX_FLOWS: usize = 16_384;

/// Maximum number of flows of a datapath, so that no datapath keeps all others out.
const MAX_FLOWS_OF_ONE: usize = MAX_FLOWS / 4;

/// Silence of a datapath after which the agent looks if the datapath is still there.
const SILENCE: Duration = Duration::from_secs(2);

/// Time between two looks for silent datapaths.
const LOOK: Duration = Duration::from_millis(500);

/// The implicit registers of window and rate.
const WINDOW: u32 = 4;
const RATE: u32 = 5;

/// A flow that an agent controls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowStatus {
    /// The socket of the flow's datapath, or `shm:` and a name of the connection through shared memory.
    pub datapath: PathBuf,
    /// The number of the flow, unique within its datapath.
    pub flow: u32,
    /// The algorithm that the flow requested; empty for the agent's default.
    pub algorithm: String,
    /// The IPv4 address and port of the flow's peer; 0.0.0.0:0 where the datapath does not know them.
    pub peer: SocketAddrV4,
    /// Number of reports so far.
    pub reports: u64,
    /// The window that the agent set last, in bytes. Programs may set another one in the datapath.
    pub window: Option<u64>,
    /// The rate that the agent set last, in bytes per second.
    pub rate: Option<u64>,
}

impl FlowStatus {
    /// Returns true if the agent controls the flow: a report has shown that the datapath runs the agent's program. Before, or if
    /// the datapath refuses the program, the flow's own control goes on.
    pub fn is_controlled(&self) -> bool {
        self.reports > 0
    }
}

/// Counters of an agent, since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentTotals {
    /// Flows that began.
    pub created: u64,
    /// Flows that ended, those of vanished datapaths included.
    pub ended: u64,
    /// Datapaths that vanished without ending their flows.
    pub vanished: u64,
    /// Messages that were dropped: malformed, of another user, for an unknown algorithm, or beyond the maximum
    /// number of flows.
    pub refused: u64,
    /// Messages that a datapath did not take.
    pub unsent: u64,
}

impl Sum for AgentTotals {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, totals| Self {
            created: sum.created + totals.created,
            ended: sum.ended + totals.ended,
            vanished: sum.vanished + totals.vanished,
            refused: sum.refused + totals.refused,
            unsent: sum.unsent + totals.unsent,
        })
    }
}

/// The flows of an agent, for other threads than the agent's.
#[derive(Debug, Clone)]
pub struct AgentFlows(pub(super) Arc<Mutex<FlowTable>>);

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

/// The reason for which an agent takes no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Only agents send such messages.
    Direction,
    UnknownAlgorithm,
    TooManyFlows,
}

#[derive(Debug, Default)]
pub(super) struct FlowTable {
    datapaths: HashMap<PathBuf, DatapathState>,
    /// The algorithms that flows may request; empty if the agent takes all names.
    algorithms: Vec<String>,
    flows: usize,
    /// The last look for silent datapaths, which is too long for each message.
    looked: Option<Instant>,
    pub(super) totals: AgentTotals,
}

#[derive(Debug)]
struct DatapathState {
    flows: BTreeMap<u32, FlowStatus>,
    heard: Instant,
    /// True if a program could not be sent: the datapath needs all programs again.
    lacks_programs: bool,
}

impl FlowTable {
    pub(super) fn new(algorithms: Vec<String>) -> Self {
        Self { algorithms, ..Self::default() }
    }

    /// Handles a message of the datapath at `from`. Returns the reason if the agent must not see it.
    pub(super) fn on_message(&mut self, from: &Path, message: &Message, now: Instant) -> Result<(), Refused> {
        let state = self.datapaths.entry(from.to_owned()).or_insert_with(|| DatapathState {
            flows: BTreeMap::new(),
            heard: now,
            lacks_programs: false,
        });
        state.heard = now;
        match message {
            Message::Ready(_) => {
                let ended = std::mem::take(&mut state.flows).len();
                self.count_ended(ended);
            }
            Message::Create(create) => {
                let name = create.algorithm.as_str();
                let is_known = |name: &str| {
                    name.is_empty()
                        || self.algorithms.is_empty()
                        || self.algorithms.iter().any(|it| it == name)
                };
                let Some(name) = name.filter(|name| is_known(name)) else {
                    return Err(Refused::UnknownAlgorithm);
                };
                let status = created(from, create, name);
                if let Some(known) = state.flows.get_mut(&create.flow) {
                    *known = status;
                    return Ok(());
                }
                if self.flows >= MAX_FLOWS || state.flows.len() >= MAX_FLOWS_OF_ONE {
                    return Err(Refused::TooManyFlows);
                }
                state.flows.insert(create.flow, status);
                self.flows += 1;
                self.totals.created += 1;
            }
            Message::Measure(measure) if measure.fields.is_empty() => {
                let ended = usize::from(state.flows.remove(&measure.flow).is_some());
                self.count_ended(ended);
            }
            Message::Measure(measure) => {
                if let Some(flow) = state.flows.get_mut(&measure.flow) {
                    flow.reports += 1;
                }
            }
            Message::Install(_) | Message::Update(_) | Message::Change(_) => return Err(Refused::Direction),
        }
        Ok(())
    }

    fn count_ended(&mut self, flows: usize) {
        self.flows -= flows;
        self.totals.ended += flows as u64;
    }

    /// Records that the datapath at `to` took a message of the agent, or did not take it.
    pub(super) fn on_sent(&mut self, to: &Path, message: &Message, is_taken: bool) {
        self.totals.unsent += u64::from(!is_taken);
        let Some(state) = self.datapaths.get_mut(to) else { return };
        let (flow, fields) = match message {
            Message::Install(_) => {
                state.lacks_programs |= !is_taken;
                return;
            }
            Message::Update(update) => (update.flow, &update.fields),
            Message::Change(change) => (change.flow, &change.fields),
            Message::Create(_) | Message::Measure(_) | Message::Ready(_) => return,
        };
        if let Some(status) = state.flows.get_mut(&flow).filter(|_| is_taken) {
            status.window = value(fields, WINDOW).or(status.window);
            status.rate = value(fields, RATE).or(status.rate);
        }
    }

    /// Returns true, once, if the datapath needs all programs again. Its flows then end, and it announces them again.
    pub(super) fn needs_programs(&mut self, datapath: &Path) -> bool {
        let Some(state) = self.datapaths.get_mut(datapath) else { return false };
        let needs = std::mem::take(&mut state.lacks_programs);
        if needs {
            let ended = std::mem::take(&mut state.flows).len();
            self.count_ended(ended);
        }
        needs
    }

    /// Ends the flow whose place a refused flow has taken. Returns true if there was such a flow.
    pub(super) fn end_replaced(&mut self, datapath: &Path, flow: u32) -> bool {
        let state = self.datapaths.get_mut(datapath);
        let had = state.is_some_and(|state| state.flows.remove(&flow).is_some());
        self.count_ended(usize::from(had));
        had
    }

    /// Returns the datapaths that have been silent for long, each once in that time.
    pub(super) fn silent(&mut self, now: Instant) -> Vec<PathBuf> {
        if self.looked.is_some_and(|looked| now.saturating_duration_since(looked) < LOOK) {
            return Vec::new();
        }
        self.looked = Some(now);
        let mut silent = Vec::new();
        for (path, state) in &mut self.datapaths {
            if now.saturating_duration_since(state.heard) >= SILENCE {
                state.heard = now;
                silent.push(path.clone());
            }
        }
        silent
    }

    /// Returns true if the datapath has a flow.
    #[cfg(feature = "shm")]
    pub(super) fn has_flow(&self, datapath: &Path) -> bool {
        self.datapaths.get(datapath).is_some_and(|state| !state.flows.is_empty())
    }

    /// Forgets a datapath that is gone. Returns the numbers of its flows.
    pub(super) fn forget(&mut self, datapath: &Path) -> Vec<u32> {
        let Some(state) = self.datapaths.remove(datapath) else { return Vec::new() };
        let flows: Vec<u32> = state.flows.into_keys().collect();
        self.totals.vanished += u64::from(!flows.is_empty());
        self.count_ended(flows.len());
        flows
    }

    /// Returns all flows, by datapath and number.
    pub(super) fn status(&self) -> Vec<FlowStatus> {
        let mut all: Vec<_> =
            self.datapaths.values().flat_map(|state| state.flows.values().cloned()).collect();
        all.sort_by(|a, b| (&a.datapath, a.flow).cmp(&(&b.datapath, b.flow)));
        all
    }

    /// Returns the names that flows may request.
    pub(super) fn algorithms(&self) -> &[String] {
        &self.algorithms
    }
}

fn created(from: &Path, create: &Create, algorithm: &str) -> FlowStatus {
    let port = u16::try_from(create.destination_port).unwrap_or_default();
    FlowStatus {
        datapath: from.to_owned(),
        flow: create.flow,
        algorithm: algorithm.to_owned(),
        peer: SocketAddrV4::new(Ipv4Addr::from_bits(create.destination_address), port),
        reports: 0,
        window: None,
        rate: None,
    }
}

fn value(fields: &[Field], register: u32) -> Option<u64> {
    fields.iter().find(|field| field.register == Register::Implicit(register)).map(|field| field.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AlgorithmName, Change, Install, Measure, Ready, Update};

    fn create(flow: u32, algorithm: &str) -> Message {
        Message::Create(Create {
            flow,
            initial_window: 12_000,
            packet: 1_200,
            source_address: 0,
            source_port: 0,
            destination_address: Ipv4Addr::LOCALHOST.to_bits(),
            destination_port: 9,
            algorithm: AlgorithmName::new(algorithm).unwrap(),
        })
    }

    fn report(flow: u32, fields: &[u64]) -> Message {
        Message::Measure(Measure { flow, program: 1, fields: fields.to_vec() })
    }

    #[test]
    fn flows_are_known_from_their_beginning_to_their_end() {
        let now = Instant::now();
        let mut table = FlowTable::new(Vec::new());
        let paths = [Path::new("/a"), Path::new("/b")];
        for path in paths {
            for flow in 1..=2 {
                table.on_message(path, &create(flow, "cubic"), now).unwrap();
            }
        }
        table.on_message(paths[0], &report(1, &[7]), now).unwrap();
        let fields = vec![Field { register: Register::Implicit(WINDOW), value: 50_000 }];
        table.on_sent(paths[0], &Message::Update(Update { flow: 1, fields: fields.clone() }), true);
        table.on_sent(paths[0], &Message::Change(Change { flow: 2, program: 1, fields }), false);
        let status = table.status();
        assert_eq!((status.len(), status[0].reports, status[0].window), (4, 1, Some(50_000)));
        assert_eq!(
            (status[0].peer.to_string(), status[0].algorithm.as_str()),
            ("127.0.0.1:9".into(), "cubic")
        );
        assert_eq!((status[1].window, table.totals.unsent), (None, 1));
        // A flow that is announced again is one flow; a flow that has ended is none.
        table.on_message(paths[0], &create(1, "cubic"), now).unwrap();
        table.on_message(paths[0], &report(1, &[]), now).unwrap();
        table.on_message(paths[0], &report(1, &[]), now).unwrap();
        table.on_message(paths[1], &Message::Ready(Ready { id: 7 }), now).unwrap();
        assert_eq!(table.status().len(), 1);
        let AgentTotals { created, ended, vanished, .. } = table.totals;
        assert_eq!((created, ended, vanished, table.flows), (4, 3, 0, 1));
    }

    #[test]
    fn messages_that_an_agent_must_not_see_are_refused() {
        let now = Instant::now();
        let mut table = FlowTable::new(vec!["cubic".to_owned()]);
        let path = Path::new("/a");
        assert_eq!(table.on_message(path, &create(1, "cubik"), now), Err(Refused::UnknownAlgorithm));
        assert_eq!(table.on_message(path, &create(1, ""), now), Ok(()));
        let install = Install { flow: 0, program: 1, clauses: Vec::new(), instructions: Vec::new() };
        assert_eq!(table.on_message(path, &Message::Install(install), now), Err(Refused::Direction));
        for flow in 2..=MAX_FLOWS_OF_ONE as u32 {
            table.on_message(path, &create(flow, "cubic"), now).unwrap();
        }
        let beyond = create(u32::MAX, "cubic");
        assert_eq!(table.on_message(path, &beyond, now), Err(Refused::TooManyFlows));
        for datapath in ["/b", "/c", "/d"] {
            for flow in 1..=MAX_FLOWS_OF_ONE as u32 {
                table.on_message(Path::new(datapath), &create(flow, "cubic"), now).unwrap();
            }
        }
        assert_eq!(table.on_message(Path::new("/e"), &beyond, now), Err(Refused::TooManyFlows));
        table.on_message(path, &report(9, &[]), now).unwrap();
        assert_eq!(table.on_message(path, &beyond, now), Ok(()));
    }

    #[test]
    fn a_silent_datapath_is_looked_after_and_forgotten_if_it_is_gone() {
        let now = Instant::now();
        let mut table = FlowTable::new(Vec::new());
        let path = Path::new("/a");
        table.on_message(path, &create(3, ""), now).unwrap();
        table.on_message(path, &create(5, ""), now).unwrap();
        assert!(table.silent(now + SILENCE / 2).is_empty());
        assert_eq!(table.silent(now + SILENCE), [path]);
        assert!(table.silent(now + SILENCE).is_empty(), "it is asked once");
        assert_eq!(table.forget(path), [3, 5]);
        assert_eq!((table.totals.ended, table.totals.vanished, table.flows), (2, 1, 0));
        assert!(table.silent(now + 2 * SILENCE).is_empty());
    }

    #[test]
    fn a_datapath_that_missed_a_program_needs_all_programs_once() {
        let now = Instant::now();
        let mut table = FlowTable::new(Vec::new());
        let path = Path::new("/a");
        table.on_message(path, &create(1, ""), now).unwrap();
        let install =
            Message::Install(Install { flow: 0, program: 1, clauses: Vec::new(), instructions: Vec::new() });
        table.on_sent(path, &install, true);
        assert!(!table.needs_programs(path));
        table.on_sent(path, &install, false);
        assert!(table.needs_programs(path));
        assert!(!table.needs_programs(path));
        assert_eq!((table.status(), table.flows, table.totals.ended), (Vec::new(), 0, 1));
    }
}
