//! `SET` and its options.

use super::{NO_INTEGER, is, key, wrong_number};
use crate::Lifetime;
use crate::resp::wire::{Arguments, number};
use crate::resp::{Condition, Operation};
use std::time::Duration;

/// `SET key value [NX | XX] [EX seconds | PX milliseconds]`.
pub(super) fn parse(arguments: &Arguments<'_>) -> Result<Operation, String> {
    let (Some(name), Some(value)) = (arguments.get(1), arguments.get(2)) else {
        return Err(wrong_number("set"));
    };
    let mut lifetime = None;
    let mut condition = None;
    let mut options = arguments.from(3);
    while let Some(option) = options.next() {
        if is(option, "NX") && condition.is_none() {
            condition = Some(Condition::IfMissing);
        } else if is(option, "XX") && condition.is_none() {
            condition = Some(Condition::IfPresent);
        } else if is(option, "EX") && lifetime.is_none() {
            lifetime = Some(time(options.next(), 1000)?);
        } else if is(option, "PX") && lifetime.is_none() {
            lifetime = Some(time(options.next(), 1)?);
        } else {
            return Err("ERR syntax error: SET takes NX or XX, and EX or PX with a number".to_owned());
        }
    }
    Ok(Operation::Set {
        key: key(name)?,
        value: value.into(),
        lifetime: lifetime.unwrap_or(Lifetime::Unlimited),
        condition: condition.unwrap_or_default(),
    })
}

/// So many units of some milliseconds.
fn time(count: Option<&[u8]>, unit: i64) -> Result<Lifetime, String> {
    let count = number(count.ok_or("ERR syntax error: a number is missing")?).ok_or(NO_INTEGER)?;
    let milliseconds =
        count.checked_mul(unit).and_then(|time| u64::try_from(time).ok()).filter(|time| *time > 0);
    let milliseconds = milliseconds.ok_or("ERR invalid expire time in 'set' command")?;
    Ok(Lifetime::For(Duration::from_millis(milliseconds)))
}
