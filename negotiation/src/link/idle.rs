//! The idle time-out: it notices that a peer is gone, over transports that do not report it.

use std::time::{Duration, Instant};

/// Number of ticks per idle time-out. A peer that is gone is noticed at most one tick late, within a tenth of
/// the time-out.
pub(super) const TICKS: u32 = 12;

/// Number of ticks between two keep-alives. Five keep-alives have to be lost until a living peer counts as
/// gone.
const TICKS_PER_KEEP_ALIVE: u32 = 2;

/// The idle timer of one connection, without I/O.
///
/// Time counts against the peer only while a `recv` waits, since no arrival is seen otherwise. In exchange
/// each end sends keep-alives on its own, so an application may work on a message for any time.
#[derive(Debug)]
pub(super) struct Idle {
    timeout: Duration,
    ticks: u32,
    arrivals: u32,
    /// The end of the last tick in which the peer was heard, or no `recv` waited for it.
    heard_until: Instant,
}

/// The result of a tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There is nothing to do.
    Wait,
    /// This end has to send a keep-alive.
    KeepAlive,
    /// The peer was not heard for the whole idle time-out.
    Dead,
}

impl Idle {
    /// Makes a timer that starts now.
    pub(super) fn new(timeout: Duration, now: Instant) -> Self {
        Self { timeout, ticks: 0, arrivals: 0, heard_until: now }
    }

    /// Returns true if the next tick sends a keep-alive. At such a tick `is_attended` covers the ticks since
    /// the last keep-alive, and at other ticks the moment of the tick.
    pub(super) fn is_keep_alive_next(&self) -> bool {
        (self.ticks + 1).is_multiple_of(TICKS_PER_KEEP_ALIVE)
    }

    /// Handles that a twelfth of the idle time-out has passed. `arrivals` is a running count of messages from
    /// the peer, and `is_attended` is true if a `recv` waits for messages.
    pub(super) fn tick(&mut self, now: Instant, arrivals: u32, is_attended: bool) -> Verdict {
        self.ticks = self.ticks.wrapping_add(1);
        if arrivals != self.arrivals || !is_attended {
            (self.arrivals, self.heard_until) = (arrivals, now);
        } else if now.saturating_duration_since(self.heard_until) >= self.timeout {
            return Verdict::Dead;
        }
        if self.ticks.is_multiple_of(TICKS_PER_KEEP_ALIVE) { Verdict::KeepAlive } else { Verdict::Wait }
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
    fn there_are_six_keep_alives_per_time_out() {
        let start = Instant::now();
        let mut idle = Idle::new(TIMEOUT, start);
        let keep_alives =
            (1..=TICKS).filter(|tick| idle.tick(start + TICK * *tick, *tick, true) == Verdict::KeepAlive);
        assert_eq!(keep_alives.count(), 6);
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

    #[test]
    fn it_is_known_before_a_tick_whether_it_sends_a_keep_alive() {
        let start = Instant::now();
        let mut idle = Idle::new(TIMEOUT, start);
        for tick in 1..10 {
            let is_next = idle.is_keep_alive_next();
            let verdict = idle.tick(start + TICK * tick, 0, true);
            assert_eq!((is_next, verdict == Verdict::KeepAlive), (tick % 2 == 0, tick % 2 == 0));
        }
    }
}
