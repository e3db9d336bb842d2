//! A set of keys that a program looks up.

use crate::call::{self, MapCreation};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// `BPF_MAP_TYPE_HASH`.
const HASH: u32 = 1;

/// `BPF_F_NO_PREALLOC`: an element takes memory while it is in the map.
const NO_PREALLOC: u32 = 1;

/// The length of a key, in bytes.
pub const KEY: usize = 8;

/// The length of a value, in bytes. A set has no values, but a map has.
const VALUE: usize = 4;

/// A set of keys of eight bytes: a hash map of eBPF, whose look-up finds a value if the key is in the set.
#[derive(Debug)]
pub struct KeySet {
    map: OwnedFd,
}

impl KeySet {
    /// Makes an empty set of at most `max` keys.
    ///
    /// # Errors
    /// `PermissionDenied` if the process may not create maps; `InvalidInput` for no key; further errors of the
    /// system.
    pub fn new(max: u32) -> io::Result<Self> {
        let [key_size, value_size] = [KEY as u32, VALUE as u32];
        let creation = MapCreation { kind: HASH, key_size, value_size, max_entries: max, flags: NO_PREALLOC };
        Ok(Self { map: call::create_map(&creation)? })
    }

    /// Adds a key. A key that is in the set already stays.
    ///
    /// # Errors
    /// `ArgumentListTooLong` if the set is full; `OutOfMemory`.
    pub fn insert(&self, key: &[u8; KEY]) -> io::Result<()> {
        // SAFETY: `new` has created the map with keys and values of these lengths.
        unsafe { call::update(self.map.as_raw_fd(), key, &[0; VALUE]) }
    }

    /// Removes a key.
    ///
    /// # Errors
    /// `NotFound` if the key is not in the set.
    pub fn remove(&self, key: &[u8; KEY]) -> io::Result<()> {
        // SAFETY: `new` has created the map with keys of this length.
        unsafe { call::delete(self.map.as_raw_fd(), key) }
    }

    /// Returns the number of the descriptor, for the instruction that loads the map into a register. A program
    /// that has been loaded keeps the map.
    pub fn number(&self) -> RawFd {
        self.map.as_raw_fd()
    }
}
