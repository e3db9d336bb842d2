//! The deadline of a call.

/// The header of the deadline.
pub(crate) const HEADER: &str = "grpc-timeout";

/// Returns the number of milliseconds that a header states; zero is a deadline that has passed. Returns `None` if it states nothing that
/// is understood.
pub(crate) fn milliseconds(header: &str) -> Option<u32> {
    let (digits, unit) = header.split_at_checked(header.len().checked_sub(1)?)?;
    if !(1..=8).contains(&digits.len()) || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    let milliseconds = match unit {
        "H" => number * 3_600_000,
        "M" => number * 60_000,
        "S" => number * 1000,
        "m" => number,
        "u" => number.div_ceil(1000),
        "n" => number.div_ceil(1_000_000),
        _ => return None,
    };
    Some(u32::try_from(milliseconds).unwrap_or(u32::MAX))
}

/// Returns the header that states so many milliseconds.
pub(crate) fn header(milliseconds: u32) -> String {
    // A header has eight digits.
    if milliseconds < 100_000_000 {
        format!("{milliseconds}m")
    } else {
        format!("{}S", milliseconds.div_ceil(1000))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_units_are_understood() {
        let cases = [
            ("1H", 3_600_000),
            ("2M", 120_000),
            ("3S", 3000),
            ("4m", 4),
            ("5u", 1),
            ("1001u", 2),
            ("6n", 1),
            ("0m", 0),
            ("00n", 0),
        ];
        for (text, expected) in cases {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
        assert_eq!(milliseconds("99999999H"), Some(u32::MAX));
        for wrong in ["", "m", "1", "1x", "+1m", "-1m", "123456789m", "1 m", "1ü"] {
            assert_eq!(milliseconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_deadline_is_read_as_it_was_written() {
        for time in [1, 99_999_999, 100_000_000, u32::MAX] {
            assert!(milliseconds(&header(time)).unwrap().abs_diff(time) < 1000);
        }
    }
}
