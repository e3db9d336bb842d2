//! Noticing that a peer is gone, over transports that do not say so.

use std::time::{Duration, Instant};

/// Ticks per idle time-out: the peer is taken for gone at most one tick late, within a tenth of the time-out.
pub(super) const TICKS: u32 = 12;

/// Ticks between two signs of life: five of them have to be lost until a living peer is taken for gone.
const TICKS_PER_SIGN: u32 = 2;

/// The idle timer of one connection, without I/O.
///
/// Time counts against the peer only while a `recv` waits, since nothing that arrives is seen otherwise. In exchange
/// each end sends signs of life on its own, so an application may work on a message for any time.
#[derive(Debug)]
pub(super) struct Idle {
    timeout: Duration,
    ticks: u32,
    arrivals: u32,
    /// The end of the last tick in which the peer was heard, or nothing listened for it.
    heard_until: Instant,
}

/// The result of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing to do.
    Wait,
    /// This end has to send a sign of life.
    Alive,
    /// Nothing was heard for the whole idle time-out.
    Dead,
}

impl Idle {
    /// A timer that starts now.
    pub(super) fn new(timeout: Duration, now: Instant) -> Self {
        Self { timeout, ticks: 0, arrivals: 0, heard_until: now }
    }

    /// Whether the next tick asks for [attention](Self::tick) over several ticks instead of the state at its moment.
    pub(super) fn is_sign_next(&self) -> bool {
        (self.ticks + 1).is_multiple_of(TICKS_PER_SIGN)
    }

    /// One twelfth of the idle time-out has passed. `arrivals` is a running count of messages from the peer;
    /// `is_attended` says whether a `recv` waits for one.
    pub(super) fn tick(&mut self, now: Instant, arrivals: u32, is_attended: bool) -> Verdict {
        self.ticks = self.ticks.wrapping_add(1);
        if arrivals != self.arrivals || !is_attended {
            (self.arrivals, self.heard_until) = (arrivals, now);
        } else if now.saturating_duration_since(self.heard_until) >= self.timeout {
            return Verdict::Dead;
        }
        if self.ticks.is_multiple_of(TICKS_PER_SIGN) { Verdict::Alive } else { Verdict::Wait }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(12);
    const TICK: Duration = Duration::from_secs(1);

    #[test]
    fn a_quiet_peer_is_dead_within_a_tenth_of_the_time_out_and_not_before() {
        let start = Instant::now();
        for last_arrival in (0..5000).map(|millis| start + Duration::from_millis(millis)) {
            let mut idle = Idle::new(TIMEOUT, start);
            let mut now = start;
            let died = loop {
                now += TICK;
                let arrivals = if now < last_arrival { (now - start).as_secs() as u32 } else { 77 };
                if idle.tick(now, arrivals, true) == Verdict::Dead {
                    break now;
                }
            };
            let quiet = died - last_arrival;
            assert!(quiet >= TIMEOUT && quiet <= TIMEOUT + TIMEOUT / 10, "{quiet:?}");
        }
    }

    #[test]
    fn there_are_six_signs_of_life_per_time_out() {
        let start = Instant::now();
        let mut idle = Idle::new(TIMEOUT, start);
        let signs = (1..=TICKS).filter(|tick| idle.tick(start + TICK * *tick, *tick, true) == Verdict::Alive);
        assert_eq!(signs.count(), 6);
    }

    #[test]
    fn arrivals_and_a_busy_application_reset_the_clock() {
        let start = Instant::now();
        let mut idle = Idle::new(TIMEOUT, start);
        for tick in 1..100 {
            assert_ne!(idle.tick(start + TICK * tick, tick / 9, true), Verdict::Dead);
        }
        for tick in 100..200 {
            assert_ne!(idle.tick(start + TICK * tick, 33, false), Verdict::Dead);
        }
    }
}
