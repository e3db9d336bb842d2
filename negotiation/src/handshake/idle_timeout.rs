//! The idle time-out that both ends use.

use std::time::Duration;

/// Minimum idle time-out to which an end agrees, so that a peer cannot ask for a flood of keep-alives.
const SHORTEST: Duration = Duration::from_millis(100);

/// Returns the time-out of both ends. It is the smaller of their own time-outs, so that each end sends
/// keep-alives often enough for its peer.
pub(crate) fn agreed(ours: Duration, theirs_ms: u32) -> Duration {
    ours.min(Duration::from_millis(theirs_ms.into())).max(SHORTEST)
}

/// Returns the time-out in milliseconds, for a message.
pub(crate) fn to_millis(timeout: Duration) -> u32 {
    u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_use_the_smaller_time_out() {
        let (short, long) = (Duration::from_secs(2), Duration::from_secs(30));
        assert_eq!(agreed(long, to_millis(short)), short);
        assert_eq!(agreed(short, to_millis(long)), short);
        assert_eq!(agreed(Duration::MAX, to_millis(Duration::MAX)).as_millis(), u32::MAX.into());
        assert_eq!(agreed(long, 0), SHORTEST);
    }
}
