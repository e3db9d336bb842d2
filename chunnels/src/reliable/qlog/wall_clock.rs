//! The date and the time of the day, in UTC.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

/// A moment of the system's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WallClock {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    milli: u32,
}

impl WallClock {
    /// Returns the moment `time`; a clock that was never set shows 1970.
    pub(super) fn at(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let second = since.as_secs();
        let (year, month, day) = date(second / 86_400);
        Self {
            year,
            month,
            day,
            hour: second / 3_600 % 24,
            minute: second / 60 % 60,
            second: second % 60,
            milli: since.subsec_millis(),
        }
    }

    /// Returns the moment without the characters that some systems refuse in names of files.
    pub(super) fn compact(self) -> String {
        let Self { year, month, day, hour, minute, second, milli } = self;
        format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{milli:03}Z")
    }
}

/// Writes the moment as RFC 3339 says.
impl fmt::Display for WallClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second, milli } = self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
    }
}

/// Returns the year, month and day of a day since 1970.
fn date(mut day: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    loop {
        let days = if is_leap(year) { 366 } else { 365 };
        if day < days {
            break;
        }
        day -= days;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    (year, month, day + 1)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_of_all_kinds_of_years() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(WallClock::at(UNIX_EPOCH + Duration::from_secs(seconds)).to_string(), text);
        }
        let clock = WallClock::at(UNIX_EPOCH + Duration::from_millis(1_709_164_800_042));
        assert_eq!(clock.compact(), "20240229T000000.042Z");
    }
}
