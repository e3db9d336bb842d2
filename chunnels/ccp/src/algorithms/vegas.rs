//! Vegas.

use super::window::{self, MIN, Round, Window, WindowFlow};
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo};
use std::collections::HashMap;
use std::time::Duration;

/// Vegas: keeps between two and four packets in the queue, by the difference of the expected and the actual rate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Vegas;

/// The bounds of the packets in the queue, and the number of packets that ends slow start.
const ALPHA: f64 = 2.0;
const BETA: f64 = 4.0;
const GAMMA: f64 = 1.0;

impl<I: Ipc> CongAlg<I> for Vegas {
    type Flow = WindowFlow<I>;

    fn name() -> &'static str {
        "vegas"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        window::programs()
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> WindowFlow<I> {
        WindowFlow::new(datapath, &info, |packets| {
            Box::new(VegasState { packets, base: Duration::MAX, is_slow_start: true })
        })
    }
}

struct VegasState {
    packets: f64,
    /// The smallest round-trip time so far.
    base: Duration,
    is_slow_start: bool,
}

impl Window for VegasState {
    fn on_round(&mut self, round: &Round) {
        self.base = self.base.min(round.rtt);
        let queued = self.packets * (1.0 - self.base.as_secs_f64() / round.rtt.as_secs_f64().max(1e-6));
        if self.is_slow_start && queued <= GAMMA {
            self.packets += round.acked;
            return;
        }
        self.is_slow_start = false;
        if queued < ALPHA {
            self.packets += 1.0;
        } else if queued > BETA {
            self.packets = (self.packets - 1.0).max(MIN);
        }
    }

    fn on_loss(&mut self, _: &Round) {
        self.is_slow_start = false;
        self.packets = (self.packets / 2.0).max(MIN);
    }

    fn on_timeout(&mut self) {
        self.packets = MIN;
        self.is_slow_start = true;
    }

    fn packets(&self) -> f64 {
        self.packets
    }
}
