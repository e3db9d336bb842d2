//! CUBIC.

use super::setting::{Configure, Setting};
use super::window::{self, MIN, Round, Window, WindowFlow};
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo};
use std::collections::HashMap;
use std::time::Duration;

/// CUBIC as in RFC 9438: after a loss the window grows along a cubic function of time, flat around the size at which the loss
/// happened.
#[derive(Debug, Clone, Copy)]
pub struct Cubic {
    /// The steepness, in packets per cubic second.
    c: f64,
    /// The factor of a reduction.
    beta: f64,
}

impl Default for Cubic {
    /// Makes CUBIC with the numbers of RFC 9438.
    fn default() -> Self {
        Self { c: 0.4, beta: 0.7 }
    }
}

impl Configure for Cubic {
    const SETTINGS: &'static [Setting<Self>] = &[
        Setting {
            name: "c",
            meaning: "the steepness of the growth, in packets per cubic second",
            range: 0.01..=100.0,
            field: |cubic| &mut cubic.c,
        },
        Setting {
            name: "beta",
            meaning: "the factor of the window at a loss",
            range: 0.1..=0.95,
            field: |cubic| &mut cubic.beta,
        },
    ];
}

impl Cubic {
    /// Returns the growth of the estimate of Reno's window that gives the same average.
    fn alpha(self) -> f64 {
        3.0 * (1.0 - self.beta) / (1.0 + self.beta)
    }
}

impl<I: Ipc> CongAlg<I> for Cubic {
    type Flow = WindowFlow<I>;

    fn name() -> &'static str {
        "cubic"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        window::programs()
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> WindowFlow<I> {
        WindowFlow::new(datapath, &info, |packets| Box::new(CubicState::new(*self, packets)))
    }
}

pub(super) struct CubicState {
    cubic: Cubic,
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
    pub(super) fn new(cubic: Cubic, packets: f64) -> Self {
        Self { cubic, packets, threshold: f64::INFINITY, at_loss: 0.0, prior: 0.0, epoch: None }
    }

    /// Makes a window that is known to fit the path, and grows from there without slow start.
    pub(super) fn resumed(packets: f64) -> Self {
        Self { threshold: packets, ..Self::new(Cubic::default(), packets) }
    }

    fn avoid(&mut self, round: &Round) {
        let at_loss = self.at_loss;
        let packets = self.packets;
        let c = self.cubic.c;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: round.now,
            until_max: ((at_loss - packets).max(0.0) / c).cbrt(),
            max: at_loss.max(packets),
            reno: packets,
        });
        let alpha = if epoch.reno < self.prior { self.cubic.alpha() } else { 1.0 };
        epoch.reno += alpha * round.acked / packets;
        // The time is the end of the next round trip, whose window this is.
        let seconds = (round.now.saturating_sub(epoch.start) + round.rtt).as_secs_f64();
        let cubic = c * (seconds - epoch.until_max).powi(3) + epoch.max;
        self.packets = cubic.min(1.5 * packets).max(epoch.reno).max(packets);
    }

    fn reduce(&mut self) {
        let is_converging = self.packets < self.at_loss;
        self.at_loss =
            if is_converging { self.packets * (1.0 + self.cubic.beta) / 2.0 } else { self.packets };
        self.prior = self.packets;
        self.threshold = (self.packets * self.cubic.beta).max(MIN);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the windows after a loss, and after two seconds behind it.
    fn windows(cubic: Cubic) -> [f64; 2] {
        let mut state = CubicState::resumed(100.0);
        state.cubic = cubic;
        let rtt = Duration::from_millis(100);
        let round = |now| Round { acked: 100.0, rtt, now, lag: Duration::ZERO };
        state.on_loss(&round(Duration::ZERO));
        let after = state.packets();
        (1..=20).for_each(|rounds| state.on_round(&round(rounds * rtt)));
        [after, state.packets()]
    }

    #[test]
    fn settings_change_the_reduction_and_the_growth() {
        let [after, later] = windows(Cubic::default());
        assert_eq!(after, 70.0);
        let mut gentle = Cubic::default();
        gentle.set("beta", 0.9).unwrap();
        assert_eq!(windows(gentle)[0], 90.0);
        let mut steep = Cubic::default();
        steep.set("c", 50.0).unwrap();
        let [same, steep] = windows(steep);
        assert!(same == after && steep > later + 10.0, "{later} to {steep}");
    }
}
