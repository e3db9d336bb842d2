//! The throughput of the RFCs' pseudo-code over a link, without packets, timers or a protocol.
//!
//! This model is written apart from the code that it judges: a sender with endless data, packets of equal
//! size, a queue, random loss, and an acknowledgement for each packet. A packet counts as lost when the third
//! packet after it is acknowledged.

use std::collections::VecDeque;

/// A link, in packets and seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Path {
    pub(super) packets_per_second: f64,
    pub(super) round_trip: f64,
    pub(super) queue: f64,
    pub(super) loss: f64,
}

/// RFC 9002, appendix B, or RFC 9438, section 4, with windows in packets.
pub(super) enum Rules {
    NewReno,
    Cubic { w_max: f64, cwnd_prior: f64, epoch: Option<(f64, f64, f64)>, w_est: f64 },
}

impl Rules {
    pub(super) fn cubic() -> Self {
        Self::Cubic { w_max: 0.0, cwnd_prior: 0.0, epoch: None, w_est: 0.0 }
    }
}

struct Window {
    rules: Rules,
    cwnd: f64,
    ssthresh: f64,
    recovery_start: f64,
}

impl Window {
    fn on_ack(&mut self, sent: f64, now: f64, rtt: f64) {
        if sent <= self.recovery_start {
            return;
        }
        if self.cwnd < self.ssthresh {
            self.cwnd += 1.0;
            return;
        }
        match &mut self.rules {
            Rules::NewReno => self.cwnd += 1.0 / self.cwnd,
            Rules::Cubic { w_max, cwnd_prior, epoch, w_est } => {
                let c = 0.4;
                if epoch.is_none() {
                    let k = if *w_max > self.cwnd { ((*w_max - self.cwnd) / c).powf(1.0 / 3.0) } else { 0.0 };
                    *epoch = Some((now, k, w_max.max(self.cwnd)));
                    *w_est = self.cwnd;
                }
                let (start, k, top) = epoch.unwrap();
                let alpha = if *w_est >= *cwnd_prior { 1.0 } else { 3.0 * 0.3 / 1.7 };
                *w_est += alpha / self.cwnd;
                let w = |t: f64| c * (t - k).powi(3) + top;
                if w(now - start) < *w_est {
                    self.cwnd = self.cwnd.max(*w_est);
                } else {
                    let target = w(now - start + rtt).min(1.5 * self.cwnd).max(self.cwnd);
                    self.cwnd += (target - self.cwnd) / self.cwnd;
                }
            }
        }
    }

    fn on_loss(&mut self, sent: f64, now: f64) {
        if sent <= self.recovery_start {
            return;
        }
        self.recovery_start = now;
        match &mut self.rules {
            Rules::NewReno => self.cwnd /= 2.0,
            Rules::Cubic { w_max, cwnd_prior, epoch, .. } => {
                *cwnd_prior = self.cwnd;
                *w_max = if self.cwnd < *w_max { self.cwnd * 0.85 } else { self.cwnd };
                *epoch = None;
                self.cwnd *= 0.7;
            }
        }
        self.cwnd = self.cwnd.max(2.0);
        self.ssthresh = self.cwnd;
    }
}

/// Returns the share of the link that the rules use between `from` and `to` seconds.
pub(super) fn utilisation(rules: Rules, path: Path, from: f64, to: f64, seed: u64) -> f64 {
    let mut window = Window { rules, cwnd: 10.0, ssthresh: f64::INFINITY, recovery_start: -1.0 };
    // Each packet has its number, the time at which it was sent, and the time of its acknowledgement, if it
    // is not lost.
    let mut flying: VecDeque<(u64, f64, Option<f64>)> = VecDeque::new();
    let (mut now, mut busy, mut next, mut delivered) = (0.0_f64, 0.0_f64, 0_u64, 0_u64);
    let mut dice = seed;
    while now < to {
        while (flying.len() as f64) < window.cwnd.floor() {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let is_unlucky = ((dice >> 33) as f64) < path.loss * (1_u64 << 31) as f64;
            let waiting = (busy - now).max(0.0) * path.packets_per_second;
            let is_full = waiting + 1.0 > path.queue;
            let mut ack = None;
            if !is_full {
                busy = busy.max(now) + 1.0 / path.packets_per_second;
                ack = (!is_unlucky).then_some(busy + path.round_trip);
            }
            flying.push_back((next, now, ack));
            next += 1;
        }
        let Some(at) = flying.iter().position(|(_, _, ack)| ack.is_some()) else {
            // All packets are lost, which a time-out finds out.
            now += 3.0 * path.round_trip;
            let (_, sent, _) = *flying.back().unwrap();
            window.on_loss(sent, now);
            flying.clear();
            continue;
        };
        let (number, sent, ack) = flying.remove(at).unwrap();
        now = ack.unwrap();
        delivered += u64::from(now >= from && now < to);
        window.on_ack(sent, now, now - sent);
        while flying.front().is_some_and(|(lost, _, ack)| ack.is_none() && lost + 3 <= number) {
            let (_, sent, _) = flying.pop_front().unwrap();
            window.on_loss(sent, now);
        }
    }
    delivered as f64 / path.packets_per_second / (to - from)
}
