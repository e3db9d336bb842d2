//! BBR.

mod bandwidth;
mod round_trip;

use super::algorithm::initial_window;
use super::{Ack, Algorithm, CongestionControl, Flow};
use bandwidth::Bandwidth;
use round_trip::RoundTrip;
use std::time::Duration;

/// BBR version 1: sends at the largest rate at which packets were lately delivered, and keeps in flight about twice what
/// that rate and the smallest round-trip time allow. Loss alone does not slow it down.
///
/// Follows thesis 4.4.3 and the article that it cites (ACM Queue 14(5), 2016). Of version 1's later additions, neither
/// packet conservation after loss nor the detection of policers is in it. Where the order of gains is drawn at random
/// there, every flow here begins its cycle with the draining phase, so that a run is reproducible.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bbr;

/// 2 / ln 2: the smallest gain that doubles the delivery rate each round trip.
const STARTUP_GAIN: f64 = 2.885;

/// How much of a bandwidth-delay product may be in flight, so that delayed acknowledgements don't stall the flow.
const WINDOW_GAIN: f64 = 2.0;

/// The gains of a cycle, a round trip each: probe, drain what probing queued, cruise.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// How long the flow keeps next to nothing in flight to see the path's own delay.
const PROBE_RTT: Duration = Duration::from_millis(200);

/// The window while it does so, and the smallest one ever, in packets.
const LEAST_PACKETS: u64 = 4;

impl Algorithm for Bbr {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        Box::new(State {
            packet,
            phase: Phase::Startup { best: 0, stale_rounds: 0 },
            bandwidth: Bandwidth::default(),
            round_trip: RoundTrip::default(),
            round: Round::default(),
        })
    }
}

#[derive(Debug)]
struct State {
    packet: u64,
    phase: Phase,
    bandwidth: Bandwidth,
    round_trip: RoundTrip,
    round: Round,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    /// Doubles the rate until that brings no more: `best` so far, and for how many rounds it did not grow by a quarter.
    Startup { best: u64, stale_rounds: u32 },
    /// Lets the queue drain that startup left.
    Drain,
    /// Cycles through the gains.
    Bandwidth { step: usize, since: Duration },
    /// Keeps next to nothing in flight; `until` is set once that is reached.
    RoundTrip { until: Option<Duration>, was_filled: bool },
}

/// Counts round trips: one ends when something is acknowledged that was sent after it began.
#[derive(Debug, Default)]
struct Round {
    start: Duration,
    count: u64,
}

impl Round {
    fn advance(&mut self, ack: &Ack) -> bool {
        let ended = ack.newest_acked_sent.is_some_and(|sent| sent >= self.start);
        if ended {
            self.start = ack.now;
            self.count += 1;
        }
        ended
    }
}

impl State {
    /// The bandwidth-delay product, in bytes, if both are known.
    fn product(&self) -> Option<f64> {
        let (rate, rtt) = (self.bandwidth.most()?, self.round_trip.least()?);
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

    fn holds_less_than(&self, gain: f64, flow: &Flow) -> bool {
        self.product().is_some_and(|product| flow.bytes_in_flight as f64 <= gain * product)
    }

    fn advance(&mut self, ended_round: bool, ack: &Ack, flow: &Flow) {
        match &mut self.phase {
            Phase::Startup { best, stale_rounds } => {
                if !ended_round || flow.is_app_limited {
                    return;
                }
                let rate = self.bandwidth.most().unwrap_or(0);
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
                if flow.packets_in_flight <= LEAST_PACKETS {
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

    /// Whether it is time for the next gain: a round trip after the last, though probing goes on until it has filled the
    /// path or lost something, and draining ends as soon as the queue is gone.
    fn cycle(&mut self, step: usize, since: Duration, ack: &Ack, flow: &Flow) {
        let elapsed = ack.now.saturating_sub(since) > self.round_trip.least().unwrap_or_default();
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

impl CongestionControl for State {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        if ack.bytes_delivered() == 0 {
            return;
        }
        let ended_round = self.round.advance(ack);
        // What was acknowledged in a bunch seems to have been delivered faster than it was sent.
        let rate = match (flow.rate_outgoing, flow.rate_incoming) {
            (0, rate) | (rate, 0) => rate,
            (outgoing, incoming) => outgoing.min(incoming),
        };
        self.bandwidth.sample(self.round.count, rate, flow.is_app_limited);
        let is_stale = self.round_trip.sample(ack.now, Duration::from_micros(flow.rtt_sample_us));
        self.advance(ended_round, ack, flow);
        if is_stale && !matches!(self.phase, Phase::RoundTrip { .. }) {
            let was_filled = !matches!(self.phase, Phase::Startup { .. });
            self.phase = Phase::RoundTrip { until: None, was_filled };
        }
    }

    fn window(&self) -> u64 {
        let least = LEAST_PACKETS * self.packet;
        if matches!(self.phase, Phase::RoundTrip { .. }) {
            return least;
        }
        let gain = if matches!(self.phase, Phase::Startup { .. }) { STARTUP_GAIN } else { WINDOW_GAIN };
        match self.product() {
            // Three packets more, so that a small window does not stall on delayed acknowledgements.
            Some(product) => ((gain * product) as u64 + 3 * self.packet).max(least),
            None => initial_window(self.packet),
        }
    }

    fn rate(&self) -> Option<u64> {
        Some((self.gain() * self.bandwidth.most()? as f64) as u64)
    }
}
