//! Vegas.

use super::setting::{Configure, Setting};
use super::window::{self, MIN, Round, Window, WindowFlow};
use portus::ipc::Ipc;
use portus::{CongAlg, Datapath, DatapathInfo};
use std::collections::HashMap;
use std::time::Duration;

/// Vegas: keeps between two and four packets in the queue, or other numbers, by the difference of the expected and the actual rate.
#[derive(Debug, Clone, Copy)]
pub struct Vegas {
    /// The bounds of the packets in the queue.
    alpha: f64,
    beta: f64,
}

impl Default for Vegas {
    /// Makes Vegas that keeps two to four packets in the queue.
    fn default() -> Self {
        Self { alpha: 2.0, beta: 4.0 }
    }
}

impl Configure for Vegas {
    const SETTINGS: &'static [Setting<Self>] = &[
        Setting {
            name: "alpha",
            meaning: "the packets in the queue below which the window grows",
            range: 1.0..=1_000.0,
            field: |vegas| &mut vegas.alpha,
        },
        Setting {
            name: "beta",
            meaning: "the packets in the queue above which the window shrinks",
            range: 1.0..=1_000.0,
            field: |vegas| &mut vegas.beta,
        },
    ];
}

/// Number of packets in the queue that ends slow start.
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
            Box::new(VegasState { vegas: *self, packets, base: Duration::MAX, is_slow_start: true })
        })
    }
}

struct VegasState {
    vegas: Vegas,
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
        if queued < self.vegas.alpha {
            self.packets += 1.0;
        } else if queued > self.vegas.beta {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the packets that are in the queue at last, over a path that holds a hundred.
    fn queued(vegas: Vegas) -> f64 {
        let base = Duration::from_millis(100);
        let mut state = VegasState { vegas, packets: 100.0, base, is_slow_start: false };
        for _ in 0..500 {
            let rtt = base.mul_f64(state.packets.max(100.0) / 100.0);
            state.on_round(&Round { acked: state.packets, rtt, now: Duration::ZERO, lag: Duration::ZERO });
        }
        state.packets - 100.0
    }

    #[test]
    fn settings_bound_the_packets_in_the_queue() {
        assert!((2.0..=4.0).contains(&queued(Vegas::default())));
        let mut long = Vegas::default();
        long.set("beta", 40.0).unwrap();
        long.set("alpha", 30.0).unwrap();
        assert!((30.0..=40.0).contains(&queued(long)), "{}", queued(long));
    }
}
