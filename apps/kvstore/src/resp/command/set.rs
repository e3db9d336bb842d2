//! `SET` and its options.

use super::{NO_INTEGER, is, key, wrong_number};
use crate::Lifetime;
use crate::resp::wire::{CommandArguments, NO_MEMORY, number};
use crate::resp::{Condition, Operation};
use std::sync::Arc;
use std::time::Duration;

/// Milliseconds of the unit of `EX`.
const SECOND: i64 = 1000;

/// Milliseconds of the unit of `PX`.
const MILLISECOND: i64 = 1;

/// `SET key value [NX | XX] [EX seconds | PX milliseconds]`.
pub(super) fn parse(arguments: &CommandArguments<'_>) -> Result<Operation, String> {
    let (Some(name), Some(value)) = (arguments.get(1), arguments.get(2)) else {
        return Err(wrong_number("set"));
    };
    let mut time = None;
    let mut condition = None;
    let mut options = arguments.from(3);
    while let Some(option) = options.next() {
        if is(option, "NX") && condition != Some(Condition::IfPresent) {
            condition = Some(Condition::IfMissing);
        } else if is(option, "XX") && condition != Some(Condition::IfMissing) {
            condition = Some(Condition::IfPresent);
        } else if is(option, "EX")
            && time.is_none_or(|(_, unit)| unit == SECOND)
            && let Some(count) = options.next()
        {
            time = Some((count, SECOND));
        } else if is(option, "PX")
            && time.is_none_or(|(_, unit)| unit == MILLISECOND)
            && let Some(count) = options.next()
        {
            time = Some((count, MILLISECOND));
        } else {
            return Err("ERR syntax error".to_owned());
        }
    }
    // As in Redis, an unknown option is reported before a wrong number.
    let lifetime = time.map(|(count, unit)| lifetime(count, unit)).transpose()?;
    Ok(Operation::Set {
        key: key(name)?,
        value: shared(value)?,
        lifetime: lifetime.unwrap_or(Lifetime::Unlimited),
        condition: condition.unwrap_or_default(),
    })
}

/// Values of this length and more are tried out before they are allocated, in bytes: a smaller value is a part of memory that the
/// allocator has mostly got from the system already.
const TRIED: usize = 64 << 10;

/// Returns the value for the store.
///
/// The memory of an `Arc` can't be asked for without the end of the process if there is none. So as much is asked for before, in a
/// way that can fail, and given back. Another thread may take it in between.
fn shared(value: &[u8]) -> Result<Arc<[u8]>, String> {
    if value.len() >= TRIED {
        Vec::<u8>::new().try_reserve_exact(value.len() + TRIED).map_err(|_| NO_MEMORY)?;
    }
    Ok(value.into())
}

/// Returns a lifetime of `count` units of some milliseconds.
fn lifetime(count: &[u8], unit: i64) -> Result<Lifetime, String> {
    let count = number(count).ok_or(NO_INTEGER)?;
    let milliseconds =
        count.checked_mul(unit).and_then(|time| u64::try_from(time).ok()).filter(|time| *time > 0);
    let milliseconds = milliseconds.ok_or("ERR invalid expire time in 'set' command")?;
    Ok(Lifetime::For(Duration::from_millis(milliseconds)))
}
