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

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
