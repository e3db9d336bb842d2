//! The time until which a call waits.

use libc::{c_int, timespec};

const NANOSECONDS: i128 = 1_000_000_000;

/// The time until which a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// The call does not wait.
    Now,
    /// The call waits for ever.
    Never,
    /// The call waits until the clock shows so many nanoseconds.
    At(i128),
}

/// Returns the nanoseconds that the clock shows.
pub(crate) fn nanoseconds() -> i128 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is there to be written.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    i128::from(time.tv_sec) * NANOSECONDS + i128::from(time.tv_nsec)
}

/// Returns the milliseconds that the clock shows.
pub(crate) fn milliseconds() -> u64 {
    u64::try_from(nanoseconds() / 1_000_000).unwrap_or(0)
}

impl Deadline {
    /// A time of zero.
    pub(crate) const NOW: timespec = timespec { tv_sec: 0, tv_nsec: 0 };

    /// Waits for so many milliseconds, or for ever if their number is negative.
    pub(crate) fn after_milliseconds(milliseconds: c_int) -> Self {
        match milliseconds {
            0 => Self::Now,
            1.. => Self::At(nanoseconds() + i128::from(milliseconds) * 1_000_000),
            _ => Self::Never,
        }
    }

    /// Waits for a time, or for ever.
    pub(crate) fn after(time: Option<&timespec>) -> Self {
        match time {
            None => Self::Never,
            Some(timespec { tv_sec: 0, tv_nsec: 0 }) => Self::Now,
            Some(time) => {
                Self::At(nanoseconds() + i128::from(time.tv_sec) * NANOSECONDS + i128::from(time.tv_nsec))
            }
        }
    }

    /// Returns true if the call does not wait.
    pub(crate) fn is_now(self) -> bool {
        self == Self::Now
    }

    /// Returns true if the time is up.
    pub(crate) fn is_over(self) -> bool {
        self.left() == Some(0)
    }

    fn left(self) -> Option<i128> {
        match self {
            Self::Now => Some(0),
            Self::Never => None,
            Self::At(time) => Some((time - nanoseconds()).max(0)),
        }
    }

    /// Returns what is left in milliseconds, rounded up, and -1 for ever.
    pub(crate) fn milliseconds(self) -> c_int {
        self.left().map_or(-1, |left| c_int::try_from((left + 999_999) / 1_000_000).unwrap_or(c_int::MAX))
    }

    /// Returns what is left, if it has an end.
    pub(crate) fn time(self) -> Option<timespec> {
        self.left()
            .map(|left| timespec { tv_sec: (left / NANOSECONDS) as _, tv_nsec: (left % NANOSECONDS) as _ })
    }
}
