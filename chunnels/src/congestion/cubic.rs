//! CUBIC.

use super::algorithm::{initial_window, min_window};
use super::recovery::{RecoveryPeriod, may_grow};
use super::{Ack, Algorithm, CongestionControl, Flow};
use std::time::Duration;

/// CUBIC as in RFC 9438: after a loss the window grows along a cubic function of time, flat around the size at which
/// the loss happened. Slow start is that of RFC 9002, without HyStart++.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cubic;

/// `C`: the steepness of the function, in segments per cubic second.
const C: f64 = 0.4;

/// The factor by which a loss reduces the window.
const BETA: f64 = 0.7;

/// The growth of the estimate of Reno's window per acknowledged window until it reaches the earlier maximum,
/// so that its average equals the average of Reno's halving (section 4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

impl Algorithm for Cubic {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        Box::new(CubicState {
            packet: packet as f64,
            window: initial_window(packet) as f64 / packet as f64,
            threshold: f64::INFINITY,
            at_loss: 0.0,
            prior: 0.0,
            epoch: None,
            rtt: Duration::ZERO,
            period: RecoveryPeriod::default(),
        })
    }
}

/// The state of a flow. Windows are in packets, as in the RFC's formulas.
#[derive(Debug)]
struct CubicState {
    /// The size of a packet in bytes.
    packet: f64,
    window: f64,
    threshold: f64,
    /// `W_max`: the window before the last reduction, or less where flows converge.
    at_loss: f64,
    /// `cwnd_prior`: the window before the last reduction.
    prior: f64,
    /// The current stage of congestion avoidance.
    epoch: Option<Epoch>,
    /// The smoothed round-trip time.
    rtt: Duration,
    period: RecoveryPeriod,
}

#[derive(Debug)]
struct Epoch {
    start: Duration,
    /// `cwnd_epoch`.
    window: f64,
    /// `K`: the time of the function back to `W_max`, in seconds.
    until_max: f64,
    /// `W_est`: the estimate of Reno's window.
    reno: f64,
}

impl CubicState {
    fn smooth(&mut self, sample_us: u64) {
        let sample = Duration::from_micros(sample_us);
        self.rtt = if self.rtt.is_zero() { sample } else { (self.rtt * 7 + sample) / 8 };
    }

    /// Grows the window in congestion avoidance, sections 4.2 to 4.5.
    fn avoid(&mut self, packets: f64, now: Duration) {
        let at_loss = self.at_loss;
        let window = self.window;
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            window,
            until_max: ((at_loss - window).max(0.0) / C).cbrt(),
            reno: window,
        });
        let alpha = if epoch.reno < self.prior { ALPHA } else { 1.0 };
        epoch.reno += alpha * packets / window;
        let elapsed = now.saturating_sub(epoch.start);
        // An epoch that no loss began has its maximum at its start.
        let maximum = at_loss.max(epoch.window);
        let cubic = |seconds: f64| C * (seconds - epoch.until_max).powi(3) + maximum;
        if cubic(elapsed.as_secs_f64()) < epoch.reno {
            self.window = epoch.reno.max(window);
            return;
        }
        let target = cubic((elapsed + self.rtt).as_secs_f64()).clamp(window, 1.5 * window);
        self.window += (target - window) * packets / window;
    }

    /// Reduces the window, sections 4.6 and 4.7.
    fn reduce(&mut self) {
        // Fast convergence: a flow that did not regain its window releases bandwidth to newer flows.
        let converging = self.window < self.at_loss;
        self.at_loss = if converging { self.window * (1.0 + BETA) / 2.0 } else { self.window };
        self.prior = self.window;
        self.threshold = (self.window * BETA).max(2.0);
        self.window = self.threshold;
        self.epoch = None;
    }
}

impl CongestionControl for CubicState {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        if ack.newest_acked_sent.is_some() && flow.rtt_sample_us > 0 {
            self.smooth(flow.rtt_sample_us);
        }
        if may_grow(&self.period, ack, flow) {
            let packets = ack.bytes_delivered() as f64 / self.packet;
            if self.window < self.threshold {
                self.window += packets;
            } else {
                self.avoid(packets, ack.now);
            }
        } else if flow.is_window_unused {
            // Time in which the application did not use the window must not count as growth (section 5.8).
            self.epoch = None;
        }
        if self.period.begins(ack) {
            self.reduce();
        }
        if flow.was_timeout {
            self.window = min_window(1) as f64;
            self.epoch = None;
            self.period.end();
        }
    }

    fn window(&self) -> u64 {
        (self.window * self.packet) as u64
    }
}
