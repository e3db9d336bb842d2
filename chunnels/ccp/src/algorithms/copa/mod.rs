//! Copa.

mod delays;
mod mode;
mod velocity;

use super::setting::{Configure, Setting};
use super::window::{self, MIN, Measured, Round, Window, WindowFlow};
use delays::Delays;
use mode::Mode;
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo};
use std::collections::HashMap;
use velocity::Velocity;

/// Copa (Arun and Balakrishnan, NSDI 2018): steers towards a rate of one packet per half the delay in the
/// queue, faster the longer the direction stays the same.
///
/// If the queue was not nearly empty for five round trips, another flow fills it. Copa then competes: its
/// target grows by each round trip without a loss and halves at a loss, until the queue is nearly empty
/// again. [`Copa::without_competition`] keeps the queue short instead, and gets a small share beside such a
/// flow.
///
/// Three rules differ from the paper. Decisions come twice in a round trip instead of with each
/// acknowledgement, so queues of up to two packets count as nearly empty. The maximum of the round-trip
/// times is that of the samples in reports. Their minimum is that of the whole flow instead of the last ten
/// seconds, in which a competing flow can hide it: a path that becomes longer for good is taken for a filled
/// queue.
#[derive(Debug, Clone, Copy)]
pub struct Copa {
    competes: bool,
    /// The weight of delay against rate.
    delta: f64,
}

impl Default for Copa {
    /// Makes Copa that competes with flows that fill the queue.
    fn default() -> Self {
        Self { competes: true, delta: 0.5 }
    }
}

impl Copa {
    /// Makes Copa that keeps the queue short beside any flow.
    #[must_use]
    pub fn without_competition() -> Self {
        Self { competes: false, ..Self::default() }
    }
}

impl Configure for Copa {
    const SETTINGS: &'static [Setting<Self>] = &[Setting {
        name: "delta",
        meaning: "the weight of delay, by which the queue has about 1/delta packets",
        range: 0.01..=10.0,
        field: |copa| &mut copa.delta,
    }];
}

impl<I: Ipc> CongAlg<I> for Copa {
    type Flow = WindowFlow<I>;

    fn name() -> &'static str {
        "copa"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        window::programs_of_halves()
    }

    fn new_flow(&self, datapath: Datapath<I>, info: DatapathInfo) -> WindowFlow<I> {
        WindowFlow::by_halves(datapath, &info, |packets| Box::new(CopaState::new(*self, packets)))
    }
}

struct CopaState {
    packets: f64,
    competes: bool,
    delays: Delays,
    mode: Mode,
    /// The velocity, or `None` in slow start.
    velocity: Option<Velocity>,
}

impl CopaState {
    fn new(Copa { competes, delta }: Copa, packets: f64) -> Self {
        Self { packets, competes, delays: Delays::default(), mode: Mode::new(delta), velocity: None }
    }

    /// Returns the window that the target rate fills in a round trip.
    fn target(&self) -> f64 {
        let queueing = self.delays.queueing().as_secs_f64();
        if queueing == 0.0 {
            return f64::INFINITY;
        }
        self.mode.inverse_delta() * self.delays.standing().as_secs_f64() / queueing
    }
}

impl Window for CopaState {
    fn on_report(&mut self, measured: &Measured) {
        let Round { now, rtt, .. } = measured.round;
        self.delays.add(now, rtt, measured.last_rtt, self.packets);
        if self.competes {
            self.mode.on_report(self.delays.is_kept_filled(), now, self.delays.standing());
        }
    }

    fn on_round(&mut self, round: &Round) {
        let is_up = self.packets <= self.target();
        if self.velocity.is_none() && is_up {
            self.packets += round.acked;
            return;
        }
        let velocity = self.velocity.get_or_insert_with(|| Velocity::new(round.now, self.packets));
        let factor = velocity.step(is_up, self.packets, round.now, self.delays.standing());
        // The window changes by at most half of its size in a round trip.
        let step = (factor * self.mode.inverse_delta() / self.packets).min(0.5) * round.acked;
        self.packets = if is_up { self.packets + step } else { (self.packets - step).max(MIN) };
    }

    /// Leaves the window as it is: loss by itself says nothing about the queue.
    fn on_loss(&mut self, round: &Round) {
        self.velocity.get_or_insert_with(|| Velocity::new(round.now, self.packets));
        self.mode.on_loss(round.now);
    }

    fn on_timeout(&mut self) {
        self.packets = MIN;
        self.velocity.iter_mut().for_each(Velocity::reset);
    }

    fn packets(&self) -> f64 {
        self.packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Returns the target window where 10 of 30 ms are the queue's.
    fn target(delta: f64) -> f64 {
        let mut copa = Copa::default();
        copa.set("delta", delta).unwrap();
        let mut state = CopaState::new(copa, 10.0);
        for rtt in [20, 30].map(Duration::from_millis) {
            state.delays.add(rtt, rtt, rtt, 10.0);
        }
        state.target()
    }

    #[test]
    fn a_smaller_weight_of_delay_keeps_more_packets() {
        assert_eq!([target(0.5), target(0.1)], [6.0, 30.0]);
    }
}
