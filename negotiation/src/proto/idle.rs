//! Finding out that a peer is gone, over transports that don't say so.

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

/// How many ticks make an idle time-out.
pub const TICKS: u32 = 4;

impl Idle {
    /// A quarter of the idle time-out has passed. `arrivals` is a running count of messages from the peer, `waiting`
    /// whether a `recv` waits for one.
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
