//! CUBIC.

use super::window::{self, MIN, Round, Window, WindowFlow};
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo};
use std::collections::HashMap;
use std::time::Duration;

/// CUBIC as in RFC 9438: after a loss the window grows along a cubic function of time, flat around the size at which the loss
/// happened.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cubic;

impl<I: Ipc> CongAlg<I> for Cubic {
    type Flow = WindowFlow<I>;

    fn name() -> &'static str {
        "cubic"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        window::programs()
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> WindowFlow<I> {
        WindowFlow::new(datapath, &info, |packets| Box::new(CubicState::new(packets)))
    }
}

/// The steepness, in packets per cubic second; the factor of a reduction; and the growth of the estimate of
/// Reno's window that gives the same average with that factor.
const C: f64 = 0.4;
const BETA: f64 = 0.7;
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

pub(super) struct CubicState {
    packets: f64,
    threshold: f64,
    /// The window before the last reduction, or less where flows converge; and `prior`, that window
    /// unchanged.
    at_loss: f64,
    prior: f64,
    epoch: Option<Epoch>,
}

/// The time since a reduction.
struct Epoch {
    start: Duration,
    /// The time of the function back to the window of the loss, in seconds; and that window.
    until_max: f64,
    max: f64,
    reno: f64,
}

impl CubicState {
    /// Makes a window that begins with slow start.
    pub(super) fn new(packets: f64) -> Self {
        Self { packets, threshold: f64::INFINITY, at_loss: 0.0, prior: 0.0, epoch: None }
    }

    /// Makes a window that is known to fit the path, and grows from there without slow start.
    pub(super) fn resumed(packets: f64) -> Self {
        Self { threshold: packets, ..Self::new(packets) }
    }

    fn avoid(&mut self, round: &Round) {
        let at_loss = self.at_loss;
        let packets = self.packets;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: round.now,
            until_max: ((at_loss - packets).max(0.0) / C).cbrt(),
            max: at_loss.max(packets),
            reno: packets,
        });
        let alpha = if epoch.reno < self.prior { ALPHA } else { 1.0 };
        epoch.reno += alpha * round.acked / packets;
        // The time is the end of the next round trip, whose window this is.
        let seconds = (round.now.saturating_sub(epoch.start) + round.rtt).as_secs_f64();
        let cubic = C * (seconds - epoch.until_max).powi(3) + epoch.max;
        self.packets = cubic.min(1.5 * packets).max(epoch.reno).max(packets);
    }

    fn reduce(&mut self) {
        let is_converging = self.packets < self.at_loss;
        self.at_loss = if is_converging { self.packets * (1.0 + BETA) / 2.0 } else { self.packets };
        self.prior = self.packets;
        self.threshold = (self.packets * BETA).max(MIN);
        self.epoch = None;
    }
}

impl Window for CubicState {
    fn on_round(&mut self, round: &Round) {
        let mut acked = round.acked;
        if self.packets < self.threshold {
            acked = window::slow_start(&mut self.packets, self.threshold, round);
        }
        if acked > 0.0 {
            self.avoid(&Round { acked, ..*round });
        }
    }

    /// Ends the epoch, since the time must not count as growth (RFC 9438, section 5.8).
    fn on_unused(&mut self) {
        self.epoch = None;
    }

    fn on_loss(&mut self, _: &Round) {
        self.reduce();
        self.packets = self.threshold;
    }

    fn on_timeout(&mut self) {
        self.reduce();
        self.packets = MIN;
    }

    fn packets(&self) -> f64 {
        self.packets
    }
}
