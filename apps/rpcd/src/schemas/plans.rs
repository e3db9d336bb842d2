//! The schemas whose plans are known.

use crate::schemas::typed::Typed;
use bertha_schemas::{Digest, Schema, Unsuitable};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::{error, fmt};

/// Number of schemas that are kept for those who come next, and of schemas that operators have bound.
const MOST: usize = 64;

/// Number of bytes of schemas that are kept for those who come next.
const RECENT: usize = 8 << 20;

/// Number of bytes of schemas that operators have bound.
const BOUND: usize = 32 << 20;

/// The name of a descriptor set: the SHA-256 of its bytes, so that nobody finds two of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Name([u8; 32]);

/// The party that submits a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// An application, or another daemon.
    Hello,
    Operator,
}

/// The schemas that were read. A descriptor set that comes again is not read again, as long as anything uses its plan, an operator has bound it,
/// or it is one of the last.
///
/// So those who say hello with ever new schemas take the places of the last alone, and no more memory than these have.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    known: Mutex<Known>,
    /// Number of descriptor sets that were read.
    read: AtomicU64,
}

#[derive(Debug)]
struct Known {
    /// Each lives as long as anything uses it.
    by_name: HashMap<Name, Weak<Typed>>,
    by_schema: HashMap<Digest, Weak<Typed>>,
    /// Number of names above which those without a schema are forgotten.
    many: usize,
    recent: Kept,
    bound: Kept,
}

/// The reason why a schema is not kept.
#[derive(Debug, PartialEq)]
pub(crate) enum Unbound {
    Unsuitable(Unsuitable),
    /// There are so many services.
    Many(usize),
    /// They take so many bytes.
    Large(usize),
}

/// Schemas that live though nothing uses them. The one that was used last is at the end.
#[derive(Debug)]
struct Kept {
    typed: VecDeque<Arc<Typed>>,
    bytes: usize,
    room: usize,
}

impl Name {
    pub(crate) fn of(descriptors: &[u8]) -> Self {
        Self(Sha256::digest(descriptors).into())
    }
}

impl Plans {
    /// Returns what is known of a descriptor set.
    pub(crate) fn find(&self, name: Name, by: By) -> Option<Arc<Typed>> {
        let mut known = self.known.lock();
        let found = known.by_name.get(&name)?.upgrade()?;
        let given_up = known.keep(&found, by);
        drop(known);
        // The lock is free while memory is.
        drop(given_up);
        Some(found)
    }

    /// Reads a descriptor set of this name. One of a schema that is known has its plan in common with others.
    ///
    /// # Errors
    /// Fails with what is wrong with the schema.
    pub(crate) fn read(&self, name: Name, descriptors: Vec<u8>, by: By) -> Result<Arc<Typed>, Unsuitable> {
        self.read.fetch_add(1, Ordering::Relaxed);
        let schema = Schema::read(&descriptors)?;
        let same = self.known.lock().by_schema.get(&schema.digest()).and_then(Weak::upgrade);
        let typed = Arc::new(match same {
            Some(same) => same.with_descriptors(descriptors),
            None => Typed::of(schema, descriptors),
        });
        let mut known = self.known.lock();
        known.add(name, &typed);
        let given_up = known.keep(&typed, by);
        drop(known);
        drop(given_up);
        Ok(typed)
    }

    /// Reads a descriptor set of an operator, and keeps each of its services as the applications have it that call or serve it.
    ///
    /// # Errors
    /// Fails with what is wrong with the schema, or if its services have no place.
    pub(crate) fn bind(&self, descriptors: &[u8]) -> Result<Vec<Arc<Typed>>, Unbound> {
        let schema = Schema::read(descriptors)?;
        let mut services: Vec<_> = schema.methods().iter().map(|method| method.service.as_str()).collect();
        // Methods are in the order of services.
        services.dedup();
        if services.len() > MOST {
            return Err(Unbound::Many(services.len()));
        }
        let mut bound = Vec::with_capacity(services.len());
        for service in services {
            let alone = Schema::alone(descriptors, service)?;
            let name = Name::of(&alone);
            bound.push(match self.find(name, By::Operator) {
                Some(known) => known,
                None => self.read(name, alone, By::Operator)?,
            });
        }
        match bound.iter().map(|typed| typed.bytes()).sum() {
            bytes if bytes > BOUND => Err(Unbound::Large(bytes)),
            _ => Ok(bound),
        }
    }

    /// Returns true if a service of this full name was bound, or was lately called or served.
    pub(crate) fn has(&self, service: &str) -> bool {
        let known = self.known.lock();
        known.bound.typed.iter().chain(&known.recent.typed).any(|typed| typed.has(service))
    }

    /// Returns the number of descriptor sets that were read.
    pub(crate) fn count(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

impl Known {
    fn add(&mut self, name: Name, typed: &Arc<Typed>) {
        if self.by_name.len() >= self.many {
            self.by_name.retain(|_, typed| typed.strong_count() > 0);
            self.by_schema.retain(|_, typed| typed.strong_count() > 0);
            self.many = 2 * self.by_name.len() + MOST;
        }
        self.by_name.insert(name, Arc::downgrade(typed));
        self.by_schema.insert(typed.schema.digest(), Arc::downgrade(typed));
    }

    /// Keeps a schema that has just been used. Returns those that are given up for it.
    fn keep(&mut self, typed: &Arc<Typed>, by: By) -> Vec<Arc<Typed>> {
        match by {
            // What an operator has bound is one of the last there, and takes no place of others.
            By::Hello if self.bound.use_again(typed) => Vec::new(),
            By::Hello => self.recent.keep(typed),
            By::Operator => self.bound.keep(typed),
        }
    }
}

impl Default for Known {
    fn default() -> Self {
        let (by_name, by_schema) = Default::default();
        Self { by_name, by_schema, many: MOST, recent: Kept::new(RECENT), bound: Kept::new(BOUND) }
    }
}

impl Kept {
    fn new(room: usize) -> Self {
        Self { typed: VecDeque::new(), bytes: 0, room }
    }

    /// Puts a schema behind the others, if it is kept.
    fn use_again(&mut self, typed: &Arc<Typed>) -> bool {
        let place = self.typed.iter().position(|kept| Arc::ptr_eq(kept, typed));
        place.and_then(|place| self.typed.remove(place)).map(|kept| self.typed.push_back(kept)).is_some()
    }

    /// Keeps a schema, and returns those that have no place any more. One that is larger than the room is not kept.
    fn keep(&mut self, typed: &Arc<Typed>) -> Vec<Arc<Typed>> {
        let mut given_up = Vec::new();
        if self.use_again(typed) || typed.bytes() > self.room {
            return given_up;
        }
        self.typed.push_back(Arc::clone(typed));
        self.bytes += typed.bytes();
        while self.typed.len() > MOST || self.bytes > self.room {
            let Some(first) = self.typed.pop_front() else { break };
            self.bytes -= first.bytes();
            given_up.push(first);
        }
        given_up
    }
}

impl From<Unsuitable> for Unbound {
    fn from(unsuitable: Unsuitable) -> Self {
        Self::Unsuitable(unsuitable)
    }
}

impl fmt::Display for Unbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsuitable(unsuitable) => unsuitable.fmt(f),
            Self::Many(count) => write!(f, "the schema has {count} services, of which {MOST} can be kept"),
            Self::Large(bytes) => write!(f, "the plans take {bytes} bytes of memory, and may take {BOUND}"),
        }
    }
}

impl error::Error for Unbound {}

#[cfg(test)]
pub(crate) mod tests;
