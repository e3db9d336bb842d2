//! NewReno.

use super::window::{self, MIN, Round, Window, WindowFlow};
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo};
use std::collections::HashMap;

/// NewReno: the window doubles each round trip until a loss, then halves, then grows by one packet each round trip.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewReno;

impl<I: Ipc> CongAlg<I> for NewReno {
    type Flow = WindowFlow<I>;

    fn name() -> &'static str {
        "newreno"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        window::programs()
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> WindowFlow<I> {
        WindowFlow::new(datapath, &info, |packets| Box::new(Reno::new(packets)))
    }
}

pub(super) struct Reno {
    packets: f64,
    threshold: f64,
}

impl Reno {
    pub(super) fn new(packets: f64) -> Self {
        Self { packets, threshold: f64::INFINITY }
    }
}

impl Window for Reno {
    fn on_round(&mut self, round: &Round) {
        let mut acked = round.acked;
        if self.packets < self.threshold {
            acked = window::slow_start(&mut self.packets, self.threshold, round);
        }
        self.packets += acked / self.packets;
    }

    fn on_loss(&mut self, _: &Round) {
        self.threshold = (self.packets / 2.0).max(MIN);
        self.packets = self.threshold;
    }

    fn on_timeout(&mut self) {
        self.threshold = (self.packets / 2.0).max(MIN);
        self.packets = MIN;
    }

    fn packets(&self) -> f64 {
        self.packets
    }
}
