//! The effects of commands on one record.

use super::wire::{Replies, Version, number};
use crate::{Key, Lifetime, Reason, Store};
use std::sync::Arc;
use std::time::Duration;

/// An access to one record, which the shard of its key carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Asks for the value.
    Get(Key),
    /// Creates the record or replaces it.
    Set {
        /// The record.
        key: Key,
        /// The new value.
        value: Arc<[u8]>,
        /// How long it lives.
        lifetime: Lifetime,
        /// When to do it.
        condition: Condition,
    },
    /// Removes the record.
    Delete(Key),
    /// Counts the record: one, or zero if there is none.
    Exists(Key),
    /// Adds so much to the number that the value is, or to zero.
    Increment(Key, i64),
    /// Changes how long the record lives from now on; no time removes it.
    Expire(Key, Duration),
    /// Asks how long the record still lives.
    TimeLeft(Key),
}

/// When a record is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Condition {
    /// In any case.
    #[default]
    Always,
    /// If there is none.
    IfMissing,
    /// If there is one.
    IfPresent,
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// A value.
    Value(Arc<[u8]>),
    /// There is no value, or a condition did not hold.
    Nothing,
    /// A number.
    Number(i64),
    /// It was refused, and nothing has changed.
    Refused(&'static str),
    /// The store is full, or the key too long.
    Failed(Reason),
    /// It was not carried out yet, since the values of earlier operations take much memory.
    Postponed(Operation),
}

impl Operation {
    /// The record that it is about.
    pub fn key(&self) -> &Key {
        match self {
            Self::Get(key)
            | Self::Set { key, .. }
            | Self::Delete(key)
            | Self::Exists(key)
            | Self::Increment(key, _)
            | Self::Expire(key, _)
            | Self::TimeLeft(key) => key,
        }
    }

    /// Carries it out.
    pub fn apply(self, store: &mut Store) -> Outcome {
        match self {
            Self::Get(key) => {
                store.value(&key).map_or(Outcome::Nothing, |value| Outcome::Value(value.clone()))
            }
            Self::Set { key, value, lifetime, condition } => {
                let is_met = match condition {
                    Condition::Always => true,
                    Condition::IfMissing => store.value(&key).is_none(),
                    Condition::IfPresent => store.value(&key).is_some(),
                };
                if !is_met {
                    return Outcome::Nothing;
                }
                done(store.insert(&key, value, lifetime), Outcome::Done)
            }
            Self::Delete(key) => Outcome::Number(store.remove(&key).into()),
            Self::Exists(key) => Outcome::Number(store.value(&key).is_some().into()),
            Self::Increment(key, by) => increment(store, &key, by),
            Self::Expire(key, Duration::ZERO) => Outcome::Number(store.remove(&key).into()),
            Self::Expire(key, time) => Outcome::Number(store.set_lifetime(&key, Lifetime::For(time)).into()),
            Self::TimeLeft(key) => Outcome::Number(match store.lifetime(&key) {
                None => -2,
                Some(Lifetime::Unlimited) => -1,
                Some(Lifetime::For(left)) => {
                    // To the nearest second.
                    i64::try_from((left + Duration::from_millis(500)).as_secs()).unwrap_or(i64::MAX)
                }
            }),
        }
    }
}

fn increment(store: &mut Store, key: &Key, by: i64) -> Outcome {
    let before = match store.value(key) {
        None => 0,
        Some(value) => match number(value) {
            Some(number) => number,
            None => return Outcome::Refused("ERR value is not an integer or out of range"),
        },
    };
    let Some(after) = before.checked_add(by) else {
        return Outcome::Refused("ERR increment or decrement would overflow");
    };
    let lifetime = store.lifetime(key).unwrap_or(Lifetime::Unlimited);
    done(store.insert(key, after.to_string().into_bytes().into(), lifetime), Outcome::Number(after))
}

fn done(stored: Result<(), Reason>, outcome: Outcome) -> Outcome {
    match stored {
        Ok(()) => outcome,
        Err(reason) => Outcome::Failed(reason),
    }
}

impl Outcome {
    /// The length of the value in bytes, if it is one.
    pub(super) fn value_len(&self) -> usize {
        if let Self::Value(value) = self { value.len() } else { 0 }
    }

    /// Writes it as the reply to a command.
    pub(super) fn write(&self, version: Version, replies: &mut Replies) {
        match self {
            Self::Done => replies.simple("OK"),
            Self::Value(value) => replies.bulk_or_error(value),
            Self::Nothing => replies.null(version),
            Self::Number(number) => replies.integer(*number),
            Self::Refused(reason) => replies.error(reason),
            Self::Failed(reason @ (Reason::TooManyBytes | Reason::TooManyRecords)) => {
                replies.error(&format!("OOM {reason}"));
            }
            Self::Failed(reason) => replies.error(&format!("ERR {reason}")),
            Self::Postponed(_) => replies.error("ERR this command was not carried out"),
        }
    }
}
