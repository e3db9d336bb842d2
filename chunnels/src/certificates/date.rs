//! Times as text.

use rustls::pki_types::UnixTime;
use std::fmt;

/// A time that shows as `2026-11-22 18:37:22 UTC`.
pub(super) struct Date(pub(super) UnixTime);

const DAY: u64 = 86_400;

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs();
        let (year, month, day) = civil(seconds / DAY);
        let hour = seconds / 3_600 % 24;
        let minute = seconds / 60 % 60;
        let second = seconds % 60;
        write!(f, "{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

/// Returns year, month and day of the Gregorian calendar, this many days after 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    // Years begin in March here, so that the leap day is the last day of a year, and eras of 400 years begin
    // with the year 0.
    let since_era = days + 719_468;
    let era = since_era / 146_097;
    let day_of_era = since_era % 146_097;
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, is_next_year) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + is_next_year, month, day)
}

/// Returns the seconds from 1970 to a moment of the Gregorian calendar: a year, and month, day, hour, minute and
/// second. Returns `None` before 1970.
pub(super) fn seconds(year: u64, [month, day, hour, minute, second]: [u64; 5]) -> Option<u64> {
    // Works as `civil`, in the other direction.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = 365 * year + leap_days + (153 * month + 2) / 5 + day.checked_sub(1)?;
    Some(days.checked_sub(719_468)? * DAY + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_moment_has_its_seconds() {
        assert_eq!(seconds(1970, [1, 1, 0, 0, 0]), Some(0));
        assert_eq!(seconds(2000, [2, 29, 0, 0, 0]), Some(951_782_400));
        assert_eq!(seconds(2026, [11, 22, 18, 37, 22]), Some(1_795_372_642));
        assert_eq!(seconds(2100, [3, 1, 0, 0, 0]), Some(4_107_542_400));
        assert_eq!(seconds(1969, [12, 31, 23, 59, 59]), None);
        for day in 0..60_000 {
            let (year, month, of_month) = civil(day);
            assert_eq!(seconds(year, [month, of_month, 0, 0, 0]), Some(day * DAY));
        }
    }

    #[test]
    fn days_that_are_known() {
        let shown = |seconds| Date(UnixTime::since_unix_epoch(Duration::from_secs(seconds))).to_string();
        assert_eq!(shown(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(shown(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(shown(1_795_372_642), "2026-11-22 18:37:22 UTC");
        assert_eq!(shown(4_107_542_399), "2100-02-28 23:59:59 UTC");
        assert_eq!(shown(4_107_542_400), "2100-03-01 00:00:00 UTC");
    }
}
