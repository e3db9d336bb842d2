//! Finding out that a peer is gone, over transports that don't say so.

use std::time::Duration;

/// Watches one connection. `tick` is called four times per idle time-out.
///
/// Time counts against the peer only while a `recv` waits, since nothing that arrives is seen otherwise. In exchange
/// each end says on its own that it is alive, so that an application may work on a message for as long as it likes.
#[derive(Debug, Default)]
pub struct Idle {
    seen: u32,
    quiet_ticks: u32,
}

/// What a tick found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Say that this end is alive.
    Alive,
    /// Nothing was heard for the whole idle time-out.
    Dead,
}

/// The shortest idle time-out that an end agrees to, so that a peer can't ask for a flood of signs of life.
const SHORTEST: Duration = Duration::from_millis(100);

/// The time-out that both ends use, given their own: the smaller one, so that each says often enough for the other
/// that it is alive.
pub(crate) fn agreed(ours: Duration, theirs_ms: u32) -> Duration {
    ours.min(Duration::from_millis(theirs_ms.into())).max(SHORTEST)
}

/// As it stands in a message.
pub(crate) fn to_millis(timeout: Duration) -> u32 {
    u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX)
}

/// How many ticks make an idle time-out.
pub const TICKS: u32 = 4;

impl Idle {
    /// A quarter of the idle time-out has passed. `arrivals` is a running count of messages from the peer, `waiting`
    /// whether a `recv` waits for one, and was polled in that quarter.
    pub fn tick(&mut self, arrivals: u32, waiting: bool) -> Verdict {
        if arrivals != self.seen || !waiting {
            self.seen = arrivals;
            self.quiet_ticks = 0;
            return Verdict::Alive;
        }
        self.quiet_ticks += 1;
        if self.quiet_ticks > TICKS { Verdict::Dead } else { Verdict::Alive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_peer_is_dead_after_the_time_out_and_not_before() {
        let mut idle = Idle::default();
        assert_eq!(idle.tick(1, true), Verdict::Alive);
        for _ in 0..TICKS {
            assert_eq!(idle.tick(1, true), Verdict::Alive);
        }
        assert_eq!(idle.tick(1, true), Verdict::Dead);
    }

    #[test]
    fn both_ends_use_the_smaller_time_out() {
        let (short, long) = (Duration::from_secs(2), Duration::from_secs(30));
        assert_eq!(agreed(long, to_millis(short)), short);
        assert_eq!(agreed(short, to_millis(long)), short);
        assert_eq!(agreed(Duration::MAX, to_millis(Duration::MAX)).as_millis(), u32::MAX.into());
        assert_eq!(agreed(long, 0), SHORTEST);
    }

    #[test]
    fn arrivals_and_a_busy_application_reset_the_clock() {
        let mut idle = Idle::default();
        for arrivals in 0..100 {
            assert_eq!(idle.tick(arrivals / 3, true), Verdict::Alive);
        }
        for _ in 0..100 {
            assert_eq!(idle.tick(33, false), Verdict::Alive);
        }
    }
}
