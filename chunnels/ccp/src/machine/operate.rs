//! The operations whose results are not obvious: they match libccp, bit for bit.

use super::Fault;

pub(super) fn add(left: u64, right: u64) -> Result<u64, Fault> {
    left.checked_add(right).ok_or(Fault::Overflow)
}

pub(super) fn subtract(left: u64, right: u64) -> Result<u64, Fault> {
    left.checked_sub(right).ok_or(Fault::Underflow)
}

pub(super) fn divide(left: u64, right: u64) -> Result<u64, Fault> {
    left.checked_div(right).ok_or(Fault::DivisionByZero)
}

/// Multiplies. Some products that do not fit pass as their remainders, since libccp compares with the left
/// operand alone.
pub(super) fn multiply(left: u64, right: u64) -> Result<u64, Fault> {
    let product = left.wrapping_mul(right);
    if product < left && right > 0 { Err(Fault::Overflow) } else { Ok(product) }
}

/// Computes the weighted mean. The weight of the old value is `tenths`, and the weight of the new value the
/// rest of ten.
pub(super) fn ewma(tenths: u64, old: u64, new: u64) -> u64 {
    if old == 0 {
        return new;
    }
    let weighted = 10_u64.wrapping_sub(tenths).wrapping_mul(new);
    tenths.wrapping_mul(old).wrapping_add(weighted) / 10
}

/// Returns the later of two numbers that wrap at 2^32: the number to which the distance from the other is
/// shorter. Zero counts as no number.
pub(super) fn max_wrapped(left: u64, right: u64) -> u64 {
    if left == 0 {
        return right;
    }
    if right == 0 {
        return left;
    }
    let left = left as u32;
    let right = right as u32;
    u64::from(if way(right, left) < way(left, right) { left } else { right })
}

/// Returns the distance from `from` up to `to`; it is one too short where it wraps, as in libccp.
fn way(from: u32, to: u32) -> u32 {
    if to > from { to - from } else { (u32::MAX - from).wrapping_add(to) }
}
