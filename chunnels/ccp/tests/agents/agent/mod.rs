//! Agents for tests.
#![allow(dead_code, reason = "each test uses some of this module")]

use bertha_ccp::message::{Create, Message};
use bertha_ccp::{Datapath, Link};
use bertha_core::{Error, ErrorKind};
use portus::ipc::{BackendBuilder, Ipc};
use portus::lang::Scope;
use portus::{CCPHandle, CongAlg, DatapathInfo, DatapathTrait, Flow, Report, RunBuilder};
use std::collections::HashMap;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Additive increase and multiplicative decrease, once per round trip, as an author who knows only portus
/// writes it.
#[derive(Clone)]
pub(crate) struct Aimd(Arc<AtomicU64>);

pub(crate) struct AimdFlow<I: Ipc> {
    control: portus::Datapath<I>,
    scope: Scope,
    window: u32,
    threshold: u32,
    packet: u32,
    reports: Arc<AtomicU64>,
}

impl<I: Ipc> CongAlg<I> for Aimd {
    type Flow = AimdFlow<I>;

    fn name() -> &'static str {
        "aimd"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        let program = "
            (def (Report (volatile acked 0) (volatile lost 0)))
            (when true
                (:= Report.acked (+ Report.acked (+ Ack.bytes_acked Ack.bytes_misordered)))
                (:= Report.lost (+ Report.lost Ack.lost_pkts_sample))
                (fallthrough))
            (when (> Micros Flow.rtt_sample_us) (report) (:= Micros 0))";
        HashMap::from([("count", program.to_owned())])
    }

    fn new_flow(&self, mut control: portus::Datapath<I>, info: DatapathInfo) -> AimdFlow<I> {
        let scope = control.set_program("count", Some(&[("Cwnd", info.init_cwnd)])).unwrap();
        let (window, packet, reports) = (info.init_cwnd, info.mss, self.0.clone());
        AimdFlow { control, scope, window, threshold: u32::MAX, packet, reports }
    }
}

impl<I: Ipc> Flow for AimdFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        self.reports.fetch_add(1, Ordering::Relaxed);
        let field = |name| report.get_field(name, &self.scope).unwrap();
        let (acked, lost) = (field("Report.acked"), field("Report.lost"));
        if lost > 0 {
            self.window = (self.window / 2).max(2 * self.packet);
            self.threshold = self.window;
        } else if self.window < self.threshold {
            self.window += acked as u32;
        } else {
            self.window += self.packet;
        }
        self.control.update_field(&self.scope, &[("Cwnd", self.window)]).unwrap();
    }
}

pub(crate) struct Running {
    handle: CCPHandle,
    reports: Arc<AtomicU64>,
}

impl Aimd {
    pub(crate) fn spawn(end: impl Ipc) -> Running {
        let reports = Arc::default();
        let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(Self(Arc::clone(&reports)));
        Running { handle: agent.spawn_thread().run().unwrap(), reports }
    }
}

impl Running {
    /// Returns the number of its reports so far.
    pub(crate) fn reports(&self) -> u64 {
        self.reports.load(Ordering::Relaxed)
    }

    /// Stops the agent. Returns the number of its reports.
    pub(crate) fn stop(self) -> u64 {
        self.handle.kill();
        self.handle.wait().unwrap_or_default();
        self.reports.load(Ordering::Relaxed)
    }
}

/// An agent behind a socket, without portus.
pub(crate) struct UnixAgent(UnixDatagram);

impl UnixAgent {
    pub(crate) fn bind(path: &Path) -> Self {
        let socket = UnixDatagram::bind(path).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(socket)
    }

    /// Waits for the next flow that is announced. Returns it with the datapath's address.
    pub(crate) fn created(&self) -> (Create, PathBuf) {
        let mut bytes = [0; 1_000];
        loop {
            let (length, sender) = self.0.recv_from(&mut bytes).unwrap();
            if let (Message::Create(create), _) = Message::decode(&bytes[..length]).unwrap() {
                return (create, sender.as_pathname().unwrap().to_owned());
            }
        }
    }

    pub(crate) fn send(&self, message: &Message, to: &Path) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        self.0.send_to(&bytes, to).unwrap();
    }
}

/// A link that records the sent messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recording(Arc<Mutex<Vec<Message>>>, Arc<AtomicBool>);

impl Link for Recording {
    fn send(&self, message: &[u8]) -> Result<(), Error> {
        if self.1.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Exhausted, "the queue is full"));
        }
        self.0.lock().unwrap().push(Message::decode(message)?.0);
        Ok(())
    }
}

impl Recording {
    /// Returns the number of announcements of flows.
    pub(crate) fn created(&self) -> usize {
        self.0.lock().unwrap().iter().filter(|message| matches!(message, Message::Create(_))).count()
    }

    /// Takes no message from now on, or takes messages again.
    pub(crate) fn set_full(&self, is_full: bool) {
        self.1.store(is_full, Ordering::Relaxed);
    }

    /// Returns the fields of the reports so far.
    pub(crate) fn reports(&self) -> Vec<Vec<u64>> {
        let messages = self.0.lock().unwrap();
        let fields = messages.iter().filter_map(|message| match message {
            Message::Measure(measure) => Some(measure.fields.clone()),
            _ => None,
        });
        fields.collect()
    }

    pub(crate) fn is_closed(&self, flow: u32) -> bool {
        let is_end = |message: &Message| matches!(message, Message::Measure(measure) if measure.flow == flow && measure.fields.is_empty());
        self.0.lock().unwrap().iter().any(is_end)
    }
}

/// Returns a datapath, and the link that records its messages.
pub(crate) fn recording() -> (Recording, Arc<Datapath>) {
    let link = Recording::default();
    (link.clone(), Datapath::new(link))
}

/// Hands messages to a datapath, as its agent.
pub(crate) fn hand(datapath: &Datapath, messages: &[Message]) {
    for message in messages {
        let mut bytes = Vec::new();
        message.encode(&mut bytes).unwrap();
        datapath.handle(&bytes);
    }
}
