//! Earlier agreements of servers.

use crate::auth::hash;
use crate::handshake::Expected;
use crate::wire::CLAIM;
use bertha_core::{Addr, Error, ErrorKind};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The agreements of earlier connections, by the server's address and the client's stack, for
/// [`Connect::early`](crate::Connect::early).
///
/// Cloning it is cheap, and all clones share what they know. It is bounded by entries and bytes, the oldest goes first. It
/// holds nothing secret, and a wrong entry costs a round trip and nothing else: the server decides as always.
///
/// It can be saved and loaded, in calls that block on the file system.
#[derive(Clone)]
pub struct EarlyCache {
    entries: Arc<Mutex<VecDeque<Entry>>>,
    /// The last stack that was offered: a client mostly has one.
    last: Arc<Mutex<Digested>>,
    max_entries: usize,
    max_bytes: usize,
}

/// A stack as it is encoded in an offer, and its digest.
#[derive(Default)]
struct Digested {
    stack: Vec<u8>,
    digest: [u8; 32],
}

/// The server's address, and a digest of the client's offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    #[serde(with = "as_text")]
    server: Addr,
    stack: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    key: Key,
    expected: Expected,
    /// The claim of a client that expects it; made when it is first asked for.
    #[serde(skip)]
    claim: OnceLock<[u8; CLAIM]>,
}

/// The version of the file, in front of the entries in postcard.
const VERSION: u8 = 2;

const CHECK: usize = 4;

/// An address, as its text.
mod as_text {
    use bertha_core::Addr;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(addr: &Addr, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(addr)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Addr, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl Entry {
    /// The approximate size in memory, in bytes.
    fn bytes(&self) -> usize {
        let Expected { client_picks, server_picks, capabilities, .. } = &self.expected;
        let capabilities: usize = capabilities.iter().map(|it| size_of_val(it) + it.encoding.len()).sum();
        let path = match &self.key.server {
            Addr::Unix(path) => path.as_os_str().len(),
            _ => 0,
        };
        size_of::<Self>() + path + client_picks.len() + server_picks.len() + capabilities
    }
}

impl EarlyCache {
    /// An empty cache for 1,024 agreements in 256 KiB.
    pub fn new() -> Self {
        Self::with_limits(1024, 256 * 1024)
    }

    /// An empty cache for at most so many agreements that take at most so many bytes of memory.
    pub fn with_limits(entries: usize, bytes: usize) -> Self {
        Self { entries: Arc::default(), last: Arc::default(), max_entries: entries, max_bytes: bytes }
    }

    /// The key of a client that offers `server` this stack, as it is encoded.
    pub(crate) fn key(&self, server: Addr, stack: &[u8]) -> Key {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.stack != stack {
            let digest = hash("bertha 3 stack", &[stack]);
            *last = Digested { stack: stack.to_vec(), digest };
        }
        Key { server, stack: last.digest }
    }

    /// The number of agreements in it.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether it knows none.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Forgets all.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Writes it to a file, whole or not at all.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(format!(".{}", std::process::id()));
        let written = std::fs::write(&unfinished, self.encode()?);
        written.and_then(|()| std::fs::rename(&unfinished, path)).map_err(|error| {
            let _ = std::fs::remove_file(&unfinished);
            let what = format!("the agreements can't be saved in {}", path.display());
            Error::new(Error::from(error).kind(), what).at("negotiation")
        })
    }

    /// Reads a [saved](Self::save) cache, within the limits of [`new`](Self::new). After an error the caller can go on
    /// with an empty cache.
    ///
    /// # Errors
    /// Those of the file system; [`Malformed`](ErrorKind::Malformed) if the file is damaged or something else;
    /// [`Version`](ErrorKind::Version) if another version of this crate wrote it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let cache = Self::new();
        let failed = |kind, why: &str| {
            let what = format!("the agreements in {} can't be used: {why}", path.display());
            Error::new(kind, what).at("negotiation")
        };
        let io = |error: std::io::Error| {
            let why = error.to_string();
            failed(Error::from(error).kind(), &why)
        };
        let len = std::fs::metadata(path).map_err(io)?.len();
        if len > cache.max_bytes as u64 {
            return Err(failed(ErrorKind::Malformed, "the file is too large"));
        }
        let entries = decode(&std::fs::read(path).map_err(io)?).map_err(|(kind, why)| failed(kind, why))?;
        entries.into_iter().for_each(|Entry { key, expected, .. }| cache.remember(&key, expected));
        Ok(cache)
    }

    fn encode(&self) -> Result<Vec<u8>, Error> {
        let malformed = |error| {
            Error::new(ErrorKind::Malformed, "the agreements can't be encoded")
                .at("negotiation")
                .because(error)
        };
        let mut bytes = postcard::to_extend(&*self.lock(), vec![VERSION]).map_err(malformed)?;
        let check = crc32fast::hash(&bytes);
        bytes.extend(check.to_le_bytes());
        Ok(bytes)
    }

    /// The last agreement of this server for this stack, and the claim of a client that expects it again.
    pub(crate) fn find(&self, key: &Key) -> Option<(Expected, [u8; CLAIM])> {
        let entries = self.lock();
        let Entry { expected, claim, .. } = entries.iter().find(|entry| entry.key == *key)?;
        Some((expected.clone(), *claim.get_or_init(|| expected.claim())))
    }

    /// Keeps an agreement in the place of an earlier one.
    pub(crate) fn remember(&self, key: &Key, expected: Expected) {
        let mut entries = self.lock();
        if entries.back().is_some_and(|last| last.key == *key && last.expected == expected) {
            return;
        }
        entries.retain(|entry| entry.key != *key);
        entries.push_back(Entry { key: key.clone(), expected, claim: OnceLock::new() });
        let mut bytes: usize = entries.iter().map(Entry::bytes).sum();
        while entries.len() > self.max_entries || bytes > self.max_bytes {
            let Some(oldest) = entries.pop_front() else { return };
            bytes -= oldest.bytes();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn decode(bytes: &[u8]) -> Result<Vec<Entry>, (ErrorKind, &'static str)> {
    let damaged = (ErrorKind::Malformed, "it is damaged, or no such file");
    let (whole, check) = bytes.split_last_chunk::<CHECK>().ok_or(damaged)?;
    if crc32fast::hash(whole) != u32::from_le_bytes(*check) {
        return Err(damaged);
    }
    match whole.split_first() {
        Some((&VERSION, entries)) => postcard::from_bytes(entries).map_err(|_| damaged),
        _ => Err((ErrorKind::Version, "another version has written it")),
    }
}

impl Default for EarlyCache {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for EarlyCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EarlyCache").field("len", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key { server: ([10, 0, 0, 1], number as u16).into(), stack: [1; 32] }
    }

    fn expected(pick: u8) -> Expected {
        Expected {
            client_picks: vec![pick],
            server_picks: vec![pick; 2],
            idle_ms: 7,
            capabilities: Vec::new(),
        }
    }

    #[test]
    fn the_oldest_goes_first() {
        let cache = EarlyCache::with_limits(3, 10_000);
        (0..5).for_each(|number| cache.clone().remember(&key(number), expected(0)));
        let find =
            |number| cache.find(&key(number)).map(|(expected, claim)| (claim == expected.claim(), expected));
        assert_eq!((cache.len(), find(1), find(2)), (3, None, Some((true, expected(0)))));
        cache.remember(&key(2), expected(1));
        cache.remember(&key(9), expected(0));
        assert_eq!((find(3), find(2)), (None, Some((true, expected(1)))));
        let small = EarlyCache::with_limits(3, 10);
        small.remember(&key(1), expected(0));
        assert!(small.is_empty());
    }

    #[test]
    fn whatever_is_damaged_is_an_error() {
        let cache = EarlyCache::new();
        (0..3).for_each(|number| cache.remember(&key(number), expected(1)));
        let bytes = cache.encode().unwrap();
        assert_eq!(decode(&bytes).unwrap().len(), 3);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged).is_err(), "bit {bit}");
        }
        assert!((0..bytes.len()).all(|len| decode(&bytes[..len]).is_err()));
    }
}
