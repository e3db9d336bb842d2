//! The forms of values on command lines.

use std::time::Duration;

/// Longest time that a command line can name.
const LONGEST: Duration = Duration::from_secs(1 << 30);

/// Parses a number of seconds, with or without a fraction.
///
/// # Errors
/// Returns a text for human readers if `text` is no such number, or is negative or longer than 34 years.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| *time <= LONGEST).ok_or_else(|| format!("`{text}` is not a number of seconds"))
}

/// Parses a number of seconds above zero.
///
/// # Errors
/// Works as [`seconds`], and refuses zero.
pub fn positive_seconds(text: &str) -> Result<Duration, String> {
    let time = seconds(text).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| format!("`{text}` is not a positive number of seconds"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_finite_and_not_negative() {
        assert_eq!(positive_seconds("0.5").unwrap(), Duration::from_millis(500));
        assert_eq!(seconds("0").unwrap(), Duration::ZERO);
        assert!(positive_seconds("0").is_err());
        for text in ["-1", "inf", "NaN", "1e300", "x", "", "1 s"] {
            assert!(seconds(text).is_err() && positive_seconds(text).is_err(), "{text}");
        }
    }
}
