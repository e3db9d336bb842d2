//! The bounds on an agent's decisions.

/// The highest window and rate that an agent can set for one flow. The lowest values are two packets, and
/// four packets per second: no agent can stop a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The largest window, in bytes.
    pub window: u64,
    /// The highest rate, in bytes per second. With [`u64::MAX`], only the window bounds the rate.
    pub rate: u64,
}

impl Limits {
    /// No bounds.
    pub const NONE: Self = Self { window: u64::MAX, rate: u64::MAX };

    /// Returns the window within the bounds, for packets of `packet` bytes.
    pub(super) fn window(&self, window: u64, packet: u64) -> u64 {
        window.min(self.window).max(2 * packet)
    }

    /// Returns the rate within the bounds. Without a rate, and with a bound, the result is the rate at which
    /// transports spread a window over a round trip of `rtt_us` microseconds (RFC 9002, section 7.7).
    pub(super) fn rate(&self, rate: Option<u64>, window: u64, rtt_us: u64, packet: u64) -> Option<u64> {
        let rate = match rate {
            None if self.rate == u64::MAX => return None,
            None => {
                let spread = u128::from(window) * 1_250_000 / u128::from(rtt_us.max(1));
                u64::try_from(spread).unwrap_or(u64::MAX)
            }
            Some(rate) => rate,
        };
        Some(rate.min(self.rate).max(4 * packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_the_bounds() {
        let limits = Limits { window: 100_000, rate: 1_000_000 };
        assert_eq!(limits.window(u64::MAX, 1_000), 100_000);
        assert_eq!(limits.window(0, 1_000), 2_000);
        assert_eq!(limits.rate(Some(u64::MAX), 1, 1, 1_000), Some(1_000_000));
        assert_eq!(limits.rate(Some(1), 1, 1, 1_000), Some(4_000));
        // The rate is 10,000 bytes in 20 ms, times 5/4.
        assert_eq!(limits.rate(None, 10_000, 20_000, 1_000), Some(625_000));
        assert_eq!(limits.rate(None, u64::MAX, 0, 1_000), Some(1_000_000));
        assert_eq!(Limits::NONE.rate(None, 10_000, 20_000, 1_000), None);
    }
}
