//! BBR.

mod aggregation;
mod bandwidth;
mod bound;
mod round_trip;

use super::algorithm::initial_window;
use super::{Ack, Algorithm, CongestionControl, Flow};
use aggregation::Aggregation;
use bandwidth::Bandwidth;
use bound::Bound;
use round_trip::RoundTrip;
use std::time::Duration;

/// BBR version 1: sends at the largest recent delivery rate, and keeps about two bandwidth-delay products in flight. Loss alone does
/// not slow it down; marks of routers and persistent congestion do.
///
/// The algorithm follows thesis 4.4.3 and the article that the thesis cites (ACM Queue 14(5), 2016). It adds
/// the later allowance for acknowledgements in bunches and a bound on the bytes in flight after marks or
/// persistent congestion, and does not probe the delay while it has little to send. The later packet
/// conservation after loss and the detection of policers are left out. Every flow begins its cycle of gains
/// with the draining phase and not with a random phase, so that a run is reproducible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bbr;

/// 2 / ln 2: the smallest gain that doubles the delivery rate each round trip.
const STARTUP_GAIN: f64 = 2.885;

/// The window in bandwidth-delay products, large enough that delayed acknowledgements do not stall the flow.
const WINDOW_GAIN: f64 = 2.0;

/// The gains of a cycle, each for a round trip: probe, drain the queue of the probe, cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// The time for which the flow uses the smallest window, to measure the delay without queues.
const PROBE_RTT: Duration = Duration::from_millis(200);

/// The smallest window, in packets.
const MIN_PACKETS: u64 = 4;

impl Algorithm for Bbr {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        Box::new(BbrState {
            packet,
            phase: Phase::Startup { best: 0, stale_rounds: 0 },
            bandwidth: Bandwidth::default(),
            round_trip: RoundTrip::default(),
            aggregation: Aggregation::default(),
            bound: Bound::default(),
            round: Round::default(),
        })
    }
}

#[derive(Debug)]
struct BbrState {
    packet: u64,
    phase: Phase,
    bandwidth: Bandwidth,
    round_trip: RoundTrip,
    aggregation: Aggregation,
    bound: Bound,
    round: Round,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// Doubles the rate until the delivery rate has not grown by a quarter over `best` for three round trips.
    Startup { best: u64, stale_rounds: u32 },
    /// Drains the queue of the startup.
    Drain,
    /// Cycles through the gains.
    Bandwidth { step: usize, since: Duration },
    /// Uses the smallest window; `until` is set once the bytes in flight fit into it.
    RoundTrip { until: Option<Duration>, was_filled: bool },
}

/// Counts round trips: a round trip ends when packets are acknowledged that were sent after it began, most of
/// them and not only a quick packet.
#[derive(Debug, Default)]
struct Round {
    start: Duration,
    count: u64,
}

impl Round {
    fn advance(&mut self, ack: &Ack, spread: Duration) -> bool {
        let ended = ack.newest_acked_sent.is_some_and(|sent| sent >= self.start + spread);
        if ended {
            self.start = ack.now;
            self.count += 1;
        }
        ended
    }
}

impl BbrState {
    /// Returns the bandwidth-delay product, in bytes, if rate and delay are known.
    fn product(&self) -> Option<f64> {
        let rate = self.bandwidth.max()?;
        let rtt = self.round_trip.stay()?;
        Some(rate as f64 * rtt.as_secs_f64())
    }

    fn gain(&self) -> f64 {
        match self.phase {
            Phase::Startup { .. } => STARTUP_GAIN,
            Phase::Drain => 1.0 / STARTUP_GAIN,
            Phase::Bandwidth { step, .. } => CYCLE[step % CYCLE.len()],
            Phase::RoundTrip { .. } => 1.0,
        }
    }

    /// Returns the number of bytes to have in flight by the estimates of rate and delay alone.
    fn model_window(&self) -> u64 {
        let gain = if matches!(self.phase, Phase::Startup { .. }) { STARTUP_GAIN } else { WINDOW_GAIN };
        match self.product() {
            // The window has three packets more, so that a small window does not stall on delayed
            // acknowledgements.
            Some(product) => {
                let window = (gain * product) as u64 + self.aggregation.extra() + 3 * self.packet;
                window.max(MIN_PACKETS * self.packet)
            }
            None => initial_window(self.packet),
        }
    }

    fn holds_less_than(&self, gain: f64, flow: &Flow) -> bool {
        self.product().is_some_and(|product| flow.bytes_in_flight as f64 <= gain * product)
    }

    fn advance(&mut self, ended_round: bool, ack: &Ack, flow: &Flow) {
        match &mut self.phase {
            Phase::Startup { best, stale_rounds } => {
                if !ended_round || flow.is_app_limited {
                    return;
                }
                let rate = self.bandwidth.max().unwrap_or(0);
                if rate as f64 >= *best as f64 * 1.25 {
                    (*best, *stale_rounds) = (rate, 0);
                    return;
                }
                *stale_rounds += 1;
                if *stale_rounds >= 3 {
                    self.phase = Phase::Drain;
                }
            }
            Phase::Drain => {
                if self.holds_less_than(1.0, flow) {
                    self.phase = Phase::Bandwidth { step: 1, since: ack.now };
                }
            }
            &mut Phase::Bandwidth { step, since } => self.cycle(step, since, ack, flow),
            &mut Phase::RoundTrip { until: None, was_filled } => {
                if flow.packets_in_flight <= MIN_PACKETS {
                    self.phase = Phase::RoundTrip { until: Some(ack.now + PROBE_RTT), was_filled };
                }
            }
            &mut Phase::RoundTrip { until: Some(until), was_filled } => {
                if ack.now >= until {
                    self.round_trip.renew(ack.now);
                    self.phase = match was_filled {
                        true => Phase::Bandwidth { step: 1, since: ack.now },
                        false => Phase::Startup { best: 0, stale_rounds: 0 },
                    };
                }
            }
        }
    }

    /// Advances to the next gain: after a round trip, except that probing goes on until it has filled the path or met a loss, and
    /// draining ends as soon as the queue is empty.
    fn cycle(&mut self, step: usize, since: Duration, ack: &Ack, flow: &Flow) {
        let elapsed = ack.now.saturating_sub(since) > self.round_trip.stay().unwrap_or_default();
        let gain = CYCLE[step % CYCLE.len()];
        let over = if gain > 1.0 {
            elapsed && (ack.lost_pkts_sample > 0 || !self.holds_less_than(gain, flow))
        } else if gain < 1.0 {
            elapsed || self.holds_less_than(1.0, flow)
        } else {
            elapsed
        };
        if over {
            self.phase = Phase::Bandwidth { step: (step + 1) % CYCLE.len(), since: ack.now };
        }
    }
}

impl CongestionControl for BbrState {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        if flow.was_timeout {
            self.bound.on_timeout(ack.now);
        }
        if ack.bytes_delivered() == 0 {
            return;
        }
        self.round_trip.spread_by(ack.spread);
        let ended_round = self.round.advance(ack, self.round_trip.spread());
        // Acknowledgements in a bunch show a higher delivery rate than the sending rate.
        let rate = match (flow.rate_outgoing, flow.rate_incoming) {
            (0, rate) | (rate, 0) => rate,
            (outgoing, incoming) => outgoing.min(incoming),
        };
        self.bandwidth.sample(self.round.count, rate, flow.is_app_limited);
        let window = self.window();
        let bandwidth = self.bandwidth.max().unwrap_or(0);
        self.aggregation.sample(self.round.count, bandwidth, ack.bytes_delivered(), window, ack.now);
        self.bound.on_ack(ack, flow.bytes_in_flight + ack.bytes_delivered());
        if ended_round && ack.ecn_packets == 0 && !flow.is_app_limited {
            self.bound.grow(self.packet, self.model_window());
        }
        let is_stale = self.round_trip.sample(ack.now, Duration::from_micros(flow.rtt_sample_us));
        self.advance(ended_round, ack, flow);
        // A flow that has little to send builds no queue, so its sample is as good as the sample of a probe.
        if is_stale && !flow.is_app_limited && !matches!(self.phase, Phase::RoundTrip { .. }) {
            let was_filled = !matches!(self.phase, Phase::Startup { .. });
            self.phase = Phase::RoundTrip { until: None, was_filled };
        }
    }

    fn window(&self) -> u64 {
        let min = MIN_PACKETS * self.packet;
        if matches!(self.phase, Phase::RoundTrip { .. }) {
            return min;
        }
        self.bound.apply(self.model_window()).max(min)
    }

    fn rate(&self) -> Option<u64> {
        Some((self.gain() * self.bandwidth.max()? as f64) as u64)
    }
}
