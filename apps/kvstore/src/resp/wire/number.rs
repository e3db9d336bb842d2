//! Numbers in digits.

/// The number that these digits say, as Redis writes it: without a plus, a leading zero or blanks.
pub(in crate::resp) fn number(digits: &[u8]) -> Option<i64> {
    let (is_negative, magnitude) = match digits {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, digits),
    };
    match magnitude {
        [] => return None,
        [b'0'] => return (!is_negative).then_some(0),
        [b'0', ..] => return None,
        _ => {}
    }
    magnitude.iter().try_fold(0_i64, |sum, digit| {
        let digit = i64::from(digit.checked_sub(b'0').filter(|digit| *digit < 10)?);
        let sum = sum.checked_mul(10)?;
        if is_negative { sum.checked_sub(digit) } else { sum.checked_add(digit) }
    })
}
