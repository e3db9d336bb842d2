//! Amounts and rates in iperf's form: amounts in powers of 1,024, rates in powers of 1,000.

/// Returns the rate, or zero if no time has passed.
pub(crate) fn bits_per_second(bytes: u64, seconds: f64) -> f64 {
    if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 }
}

/// Formats an amount for human readers.
pub(crate) fn bytes(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, "Bytes")
}

/// Formats a rate for human readers.
pub(crate) fn bits(per_second: f64) -> String {
    scaled(per_second, 1000.0, "bits/sec")
}

fn scaled(amount: f64, step: f64, unit: &str) -> String {
    let mut scaled = amount;
    for prefix in ["", "K", "M", "G"] {
        if scaled < step {
            return format!("{} {prefix}{unit}", digits(scaled));
        }
        scaled /= step;
    }
    format!("{} T{unit}", digits(scaled))
}

/// Formats a number with three significant digits.
fn digits(number: f64) -> String {
    match number {
        number if number < 9.995 => format!("{number:.2}"),
        number if number < 99.95 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        assert_eq!(bytes(0), "0.00 Bytes");
        assert_eq!(bytes(1_181_116_006), "1.10 GBytes");
        assert_eq!(bits(9.416e9), "9.42 Gbits/sec");
        assert_eq!(bits(9.999e6), "10.0 Mbits/sec");
        assert_eq!(bits(123e12), "123 Tbits/sec");
        assert_eq!((bits_per_second(1_000, 2.0), bits_per_second(1, 0.0)), (4_000.0, 0.0));
    }
}
