//! Copa.

use super::window::{self, MIN, Round, Window, WindowFlow};
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo};
use std::collections::HashMap;
use std::time::Duration;

/// Copa: steers towards a rate of one packet per half the delay in the queue, faster the longer the direction stays the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct Copa;

/// The weight of delay against rate.
const DELTA: f64 = 0.5;

impl<I: Ipc> CongAlg<I> for Copa {
    type Flow = WindowFlow<I>;

    fn name() -> &'static str {
        "copa"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        window::programs()
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> WindowFlow<I> {
        WindowFlow::new(datapath, &info, |packets| {
            Box::new(CopaState {
                packets,
                base: Duration::MAX,
                velocity: 1.0,
                is_up: true,
                same: 0,
                is_slow_start: true,
            })
        })
    }
}

struct CopaState {
    packets: f64,
    /// The smallest round-trip time so far.
    base: Duration,
    velocity: f64,
    is_up: bool,
    /// Number of round trips in the same direction.
    same: u32,
    is_slow_start: bool,
}

impl CopaState {
    /// Returns the window that the target rate fills in a round trip.
    fn target(&self, round: &Round) -> f64 {
        let queueing = round.rtt.saturating_sub(self.base).as_secs_f64();
        if queueing == 0.0 { f64::INFINITY } else { round.rtt.as_secs_f64() / (DELTA * queueing) }
    }

    /// Handles a direction. The velocity doubles from the third round trip in the same direction on.
    fn turn(&mut self, is_up: bool) {
        if is_up == self.is_up {
            self.same += 1;
            if self.same >= 3 {
                self.velocity *= 2.0;
            }
        } else {
            (self.is_up, self.same, self.velocity) = (is_up, 0, 1.0);
        }
    }
}

impl Window for CopaState {
    fn on_round(&mut self, round: &Round) {
        self.base = self.base.min(round.rtt);
        let is_up = self.packets <= self.target(round);
        if self.is_slow_start && is_up {
            self.packets += round.acked;
            return;
        }
        self.is_slow_start = false;
        self.turn(is_up);
        // The window grows by at most half of its size in a round trip.
        let step = (self.velocity * round.acked / (DELTA * self.packets)).min(self.packets / 2.0);
        self.packets = if is_up { self.packets + step } else { (self.packets - step).max(MIN) };
    }

    /// Does nothing: loss by itself says nothing about the queue.
    fn on_loss(&mut self, round: &Round) {
        self.is_slow_start = false;
        self.on_round(round);
    }

    fn on_timeout(&mut self) {
        self.packets = MIN;
        self.velocity = 1.0;
    }

    fn packets(&self) -> f64 {
        self.packets
    }
}
