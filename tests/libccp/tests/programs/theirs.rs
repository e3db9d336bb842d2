//! A flow of libccp.

use bertha_ccp::Signals;
use bertha_ccp::message::{Change, Message};
use libccp::{
    CongestionOps, Connection, Datapath, DatapathBuilder, DatapathOps, FlowInfo, LibccpError, Primitives,
};
use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard};

/// The messages of libccp since they were last taken.
static SENT: Mutex<Vec<Vec<u8>>> = Mutex::new(Vec::new());

/// The datapath of the next cases, and the number of cases that it has had.
static CURRENT: Mutex<Option<(&'static Datapath, usize)>> = Mutex::new(None);

/// Number of cases for each datapath: a little less than the number of flows that it holds.
const CASES: usize = 1_000;

/// Lets one case run at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Waits until no other case runs. The next case runs once the returned guard is dropped.
pub fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns a datapath with space for another flow. Neither datapaths nor flows are ever freed: libccp does
/// not clear the memory of later datapaths and flows, and announces no flow that takes the place of another
/// flow within 100 ms.
fn datapath() -> &'static Datapath {
    let mut current = CURRENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let (datapath, cases) = current.take().filter(|(_, cases)| *cases < CASES).unwrap_or_else(|| {
        let datapath = DatapathBuilder::default().with_ops(Sent).with_id(1).init().unwrap();
        (Box::leak(Box::new(datapath)), 0)
    });
    *current = Some((datapath, cases + 1));
    datapath
}

struct Sent;

impl DatapathOps for Sent {
    fn send_msg(&mut self, message: &[u8]) {
        SENT.lock().unwrap().push(message.to_vec());
    }
}

#[derive(Default)]
pub struct Set {
    window: Option<u32>,
    rate: Option<u32>,
}

impl CongestionOps for Set {
    fn set_cwnd(&mut self, window: u32) {
        self.window = Some(window);
    }

    fn set_rate_abs(&mut self, rate: u32) {
        self.rate = Some(rate);
    }
}

pub struct Theirs {
    datapath: &'static Datapath,
    connection: ManuallyDrop<Connection<'static, Set>>,
    flow: u32,
}

impl Theirs {
    pub fn start() -> Self {
        let datapath = datapath();
        SENT.lock().unwrap().clear();
        let connection = Connection::start(datapath, Set::default(), FlowInfo::default()).unwrap();
        let created = SENT.lock().unwrap().pop().unwrap();
        let (Message::Create(create), _) = Message::decode(&created).unwrap() else { panic!("no create") };
        Self { datapath, connection: ManuallyDrop::new(connection), flow: create.flow }
    }

    pub fn begin(&mut self, program: u32, install: &mut [u8]) {
        self.datapath.recv_msg(install).unwrap();
        let mut bytes = Vec::new();
        Message::Change(Change { flow: self.flow, program, fields: Vec::new() }).encode(&mut bytes).unwrap();
        self.datapath.recv_msg(&mut bytes).unwrap();
    }

    pub fn on_ack(&mut self, signals: &Signals, window: u64, rate: u64) -> Result<(), LibccpError> {
        **self.connection = Set::default();
        self.connection.load_primitives(
            Primitives::default()
                .with_bytes_acked(signals.bytes_acked as u32)
                .with_packets_acked(signals.packets_acked as u32)
                .with_bytes_misordered(signals.bytes_misordered as u32)
                .with_packets_misordered(signals.packets_misordered as u32)
                .with_ecn_bytes(signals.ecn_bytes as u32)
                .with_ecn_packets(signals.ecn_packets as u32)
                .with_lost_pkts_sample(signals.lost_pkts_sample as u32)
                .with_was_timeout(signals.was_timeout != 0)
                .with_rtt_sample_us(signals.rtt_sample_us)
                .with_rate_outgoing(signals.rate_outgoing)
                .with_rate_incoming(signals.rate_incoming)
                .with_bytes_in_flight(signals.bytes_in_flight as u32)
                .with_packets_in_flight(signals.packets_in_flight as u32)
                .with_bytes_pending(signals.bytes_pending as u32)
                .with_snd_cwnd(window as u32)
                .with_snd_rate(rate),
        );
        self.connection.invoke()
    }

    pub fn flow(&self) -> u32 {
        self.flow
    }

    pub fn window(&self) -> Option<u32> {
        self.connection.window
    }

    pub fn rate(&self) -> Option<u32> {
        self.connection.rate
    }

    pub fn report(&self) -> Option<Vec<u8>> {
        SENT.lock().unwrap().pop()
    }
}
