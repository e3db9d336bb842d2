//! Earlier agreements of servers.

use crate::Settings;
use crate::auth::hash;
use crate::handshake::{Expected, HeldTicket};
use crate::wire::{CLAIM, TICKET};
use bertha_core::{Addr, Error, ErrorKind};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

/// The agreements of earlier connections with servers that take early data, and their tickets, for
/// [`Connect::early`](crate::Connect::early). Only a client with an identical stack,
/// server address, credentials and floor uses an agreement.
///
/// Cloning the cache is cheap, and all clones share their entries. Entries and bytes are bounded, and the
/// oldest entry goes first. The cache holds no secrets, and a wrong entry costs only a round trip, since the
/// server decides as always.
///
/// The cache can be saved and loaded, in calls that block on the file system.
#[derive(Clone)]
pub struct EarlyCache {
    entries: Arc<Mutex<VecDeque<Entry>>>,
    /// The last stack that was offered, since a client mostly offers a single stack.
    last: Arc<Mutex<Digested>>,
    max_entries: usize,
    max_bytes: usize,
}

/// An encoded stack of an offer, with the client's demands, and the digest of both.
#[derive(Default)]
struct Digested {
    stack: Vec<u8>,
    floor: u8,
    credentials: Option<[u8; 32]>,
    digest: [u8; 32],
}

/// The server's address, and a digest of the client's offer and demands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Key {
    #[serde(with = "as_text")]
    server: Addr,
    stack: [u8; 32],
}

struct Entry {
    key: Key,
    expected: Expected,
    ticket: HeldTicket,
    /// The claim of a client that expects this agreement, made at its first use.
    claim: OnceLock<[u8; CLAIM]>,
}

/// An entry as it is saved.
#[derive(Serialize, Deserialize)]
struct Saved {
    key: Key,
    expected: Expected,
    ticket: [u8; TICKET],
    /// Time since the ticket was received, in milliseconds.
    age_ms: u64,
}

/// The file without its version and check.
#[derive(Serialize, Deserialize)]
struct SavedCache {
    /// Time at which the file was written, in milliseconds since 1970.
    at_ms: u64,
    entries: Vec<Saved>,
}

/// The times of both clocks. The ages of tickets follow the clock that never jumps while the process runs.
#[derive(Clone, Copy)]
struct Clocks {
    now: Instant,
    since_1970: Duration,
}

impl Clocks {
    fn read() -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { now: Instant::now(), since_1970 }
    }
}

/// The version of the file, in front of the entries in postcard.
const VERSION: u8 = 3;

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
    /// Makes an empty cache for 1,024 agreements in 256 KiB.
    pub fn new() -> Self {
        Self::with_limits(1024, 256 * 1024)
    }

    /// Makes an empty cache with these maximum numbers of agreements and of bytes in memory.
    pub fn with_limits(entries: usize, bytes: usize) -> Self {
        Self { entries: Arc::default(), last: Arc::default(), max_entries: entries, max_bytes: bytes }
    }

    /// Returns the key of a client that offers `server` this stack, as it is encoded, within these settings.
    pub(crate) fn key(&self, server: Addr, stack: &[u8], settings: &Settings) -> Key {
        let floor = settings.floor.bits();
        let credentials = settings.credentials.is_some().then(|| settings.credentials.digest());
        let mut last = self.last.lock();
        if (&last.stack[..], last.floor, last.credentials) != (stack, floor, credentials) {
            let of_credentials = credentials.as_ref().map_or(&[][..], |digest| digest);
            let digest = hash("bertha 3 stack", &[stack, &[floor], of_credentials]);
            *last = Digested { stack: stack.to_vec(), floor, credentials, digest };
        }
        Key { server, stack: last.digest }
    }

    /// Returns the number of agreements in the cache.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Returns true if the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Removes all agreements.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Writes the cache to a file. A failure leaves an earlier file as it was.
    ///
    /// # Errors
    /// The errors of the file system.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(format!(".{}", std::process::id()));
        let written = std::fs::write(&unfinished, self.encode(Clocks::read())?);
        written.and_then(|()| std::fs::rename(&unfinished, path)).map_err(|error| {
            let _ = std::fs::remove_file(&unfinished);
            let action = format_args!("the agreements can't be saved in {}", path.display());
            Error::of_file(action, error).at("negotiation")
        })
    }

    /// Reads a [saved](Self::save) cache, within the limits of [`new`](Self::new). After an error the caller
    /// can go on with an empty cache.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if there is no file, and other errors of the file system; [`Malformed`](ErrorKind::Malformed) if the file is damaged or no cache;
    /// [`Version`](ErrorKind::Version) if another version of this crate wrote it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let cache = Self::new();
        let failed = |kind, why: &str| {
            let what = format!("the agreements in {} can't be used: {why}", path.display());
            Error::new(kind, what).at("negotiation")
        };
        let io = |error: std::io::Error| {
            let action = format_args!("the agreements in {} can't be used", path.display());
            Error::of_file(action, error).at("negotiation")
        };
        let len = std::fs::metadata(path).map_err(io)?.len();
        if len > cache.max_bytes as u64 {
            return Err(failed(ErrorKind::Malformed, "the file is too large"));
        }
        let bytes = std::fs::read(path).map_err(io)?;
        let entries = decode(&bytes, Clocks::read()).map_err(|(kind, why)| failed(kind, why))?;
        entries
            .into_iter()
            .for_each(|Entry { key, expected, ticket, .. }| cache.remember(&key, expected, ticket));
        Ok(cache)
    }

    fn encode(&self, clocks: Clocks) -> Result<Vec<u8>, Error> {
        let saved = |entry: &Entry| Saved {
            key: entry.key.clone(),
            expected: entry.expected.clone(),
            ticket: entry.ticket.ticket,
            age_ms: millis(clocks.now.saturating_duration_since(entry.ticket.received)),
        };
        let entries = self.lock().iter().map(saved).collect();
        let saved = SavedCache { at_ms: millis(clocks.since_1970), entries };
        let malformed = |error| {
            Error::new(ErrorKind::Malformed, "the agreements can't be encoded")
                .at("negotiation")
                .because(error)
        };
        let mut bytes = postcard::to_extend(&saved, vec![VERSION]).map_err(malformed)?;
        let check = crc32fast::hash(&bytes);
        bytes.extend(check.to_le_bytes());
        Ok(bytes)
    }

    /// Returns the last agreement of this server for this stack, the claim of a client that expects it again,
    /// and the ticket.
    pub(crate) fn find(&self, key: &Key) -> Option<(Expected, [u8; CLAIM], HeldTicket)> {
        let entries = self.lock();
        let Entry { expected, claim, ticket, .. } = entries.iter().find(|entry| entry.key == *key)?;
        Some((expected.clone(), *claim.get_or_init(|| expected.claim()), *ticket))
    }

    /// Removes the agreement of a server that issues no ticket any more.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().retain(|entry| entry.key != *key);
    }

    /// Keeps an agreement and its ticket in place of an earlier agreement.
    pub(crate) fn remember(&self, key: &Key, expected: Expected, ticket: HeldTicket) {
        let mut entries = self.lock();
        if let Some(last) = entries.back_mut().filter(|last| last.key == *key && last.expected == expected) {
            last.ticket = ticket;
            return;
        }
        entries.retain(|entry| entry.key != *key);
        entries.push_back(Entry { key: key.clone(), expected, ticket, claim: OnceLock::new() });
        let mut bytes: usize = entries.iter().map(Entry::bytes).sum();
        while entries.len() > self.max_entries || bytes > self.max_bytes {
            let Some(oldest) = entries.pop_front() else { return };
            bytes -= oldest.bytes();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.entries.lock()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the saved entries, without entries whose tickets are older than the clock of their ages.
fn decode(bytes: &[u8], clocks: Clocks) -> Result<Vec<Entry>, (ErrorKind, &'static str)> {
    let damaged = (ErrorKind::Malformed, "it is damaged, or no such file");
    let (whole, check) = bytes.split_last_chunk::<CHECK>().ok_or(damaged)?;
    if crc32fast::hash(whole) != u32::from_le_bytes(*check) {
        return Err(damaged);
    }
    let SavedCache { at_ms, entries } = match whole.split_first() {
        Some((&VERSION, saved)) => postcard::from_bytes(saved).map_err(|_| damaged)?,
        _ => return Err((ErrorKind::Version, "another version has written it")),
    };
    let since = clocks.since_1970.saturating_sub(Duration::from_millis(at_ms));
    let held = |Saved { key, expected, ticket, age_ms }: Saved| {
        let received = clocks.now.checked_sub(since.saturating_add(Duration::from_millis(age_ms)))?;
        let ticket = HeldTicket { ticket, received };
        Some(Entry { key, expected, ticket, claim: OnceLock::new() })
    };
    Ok(entries.into_iter().filter_map(held).collect())
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
    use crate::{Credentials, IdentityKey, SharedKey};
    use bertha_core::DifferingCapability;
    use bertha_core::guarantee::{Encrypted, Set};

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

    fn ticket(number: u8, received: Instant) -> HeldTicket {
        HeldTicket { ticket: [number; TICKET], received }
    }

    #[test]
    fn the_oldest_goes_first() {
        let (cache, held) = (EarlyCache::with_limits(3, 10_000), ticket(1, Instant::now()));
        (0..5).for_each(|number| cache.clone().remember(&key(number), expected(0), held));
        let find = |number| {
            cache.find(&key(number)).map(|(expected, claim, _)| (claim == expected.claim(), expected))
        };
        assert_eq!((cache.len(), find(1), find(2)), (3, None, Some((true, expected(0)))));
        cache.remember(&key(2), expected(1), held);
        cache.remember(&key(9), expected(0), held);
        assert_eq!((find(3), find(2)), (None, Some((true, expected(1)))));
        cache.forget(&key(2));
        assert_eq!((find(2), cache.len()), (None, 2));
        let small = EarlyCache::with_limits(3, 10);
        small.remember(&key(1), expected(0), held);
        assert!(small.is_empty());
    }

    #[test]
    fn the_last_ticket_counts() {
        let (cache, now) = (EarlyCache::new(), Instant::now());
        for number in 0..3 {
            cache.remember(&key(1), expected(0), ticket(number, now));
        }
        assert_eq!((cache.find(&key(1)).unwrap().2, cache.len()), (ticket(2, now), 1));
    }

    #[test]
    fn entries_take_as_many_bytes_as_the_limit_and_no_more() {
        let held = ticket(1, Instant::now());
        let capability = DifferingCapability { layer: 1, encoding: vec![0; 1_000] };
        let large = Expected { capabilities: vec![capability; 3], ..expected(0) };
        let of_path = Key { server: Addr::Unix("p".repeat(500).into()), stack: [1; 32] };
        let bytes = |key: Key, expected: Expected| {
            Entry { key, expected, ticket: held, claim: OnceLock::new() }.bytes()
        };
        let plain = size_of::<Entry>() + 1 + 2;
        assert_eq!(bytes(key(1), expected(0)), plain);
        assert_eq!(bytes(of_path.clone(), expected(0)), plain + 500);
        assert_eq!(bytes(key(1), large.clone()), plain + 3 * (1_000 + size_of::<DifferingCapability>()));
        for (spare, kept) in [(0, 3), (1, 3), (-1, 2)] {
            let limit = (3 * plain).saturating_add_signed(spare);
            let cache = EarlyCache::with_limits(100, limit);
            (0..7).for_each(|number| cache.remember(&key(number), expected(0), held));
            assert_eq!((cache.len(), cache.find(&key(6)).is_some()), (kept, true), "{limit} bytes");
            cache.remember(&of_path, large.clone(), held);
            assert!(cache.is_empty(), "an entry beyond the limit leaves room for no entry");
        }
        let cache = EarlyCache::default();
        (0..2_000).for_each(|number| cache.remember(&key(number), expected(0), held));
        assert_eq!((cache.len(), cache.is_empty()), (1_024, false));
        assert_eq!(format!("{cache:?}"), "EarlyCache { len: 1024, .. }");
        cache.clear();
        assert_eq!((cache.len(), cache.is_empty()), (0, true));
    }

    #[test]
    fn a_file_as_large_as_the_cache_is_read_and_a_larger_file_is_not() {
        let path = std::env::temp_dir().join(format!("bertha-early-size-{}", std::process::id()));
        for (len, text) in [(256 * 1024, "damaged"), (256 * 1024 + 1, "too large")] {
            std::fs::write(&path, vec![0; len]).unwrap();
            let error = EarlyCache::load(&path).unwrap_err();
            assert!(error.kind() == ErrorKind::Malformed && error.context().contains(text), "{error}");
        }
        let (cache, held) = (EarlyCache::new(), ticket(1, Instant::now()));
        cache.remember(&key(1), expected(1), held);
        cache.save(&path).unwrap();
        assert_eq!(EarlyCache::load(&path).unwrap().find(&key(1)).unwrap().0, expected(1));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(EarlyCache::load(&path).unwrap_err().kind(), ErrorKind::Invalid);
        std::fs::create_dir(&path).unwrap();
        let error = cache.save(&path).unwrap_err();
        assert!(error.context().contains("can't be saved in"), "{error}");
        let unfinished = format!("{}.{}", path.display(), std::process::id());
        assert!(!Path::new(&unfinished).exists());
        std::fs::remove_dir(&path).unwrap();
    }

    #[test]
    fn a_stack_is_remembered_for_its_credentials_and_its_floor() {
        let cache = EarlyCache::new();
        let key = |change: &dyn Fn(&mut Settings)| {
            let mut settings = Settings::default();
            change(&mut settings);
            cache.key(([10, 0, 0, 1], 1).into(), b"stack", &settings)
        };
        let shared = |byte| Credentials::shared(SharedKey::new([byte; 32]));
        let identity = |byte| IdentityKey::from_seed([byte; 32]);
        let keys = [
            key(&|_| ()),
            key(&|settings| settings.floor = Set::of::<Encrypted>()),
            key(&|settings| settings.credentials = shared(1)),
            key(&|settings| settings.credentials = shared(2)),
            key(&|settings| settings.credentials = shared(1).identity(identity(1))),
            key(&|settings| settings.credentials = shared(1).trusting([identity(1).public()])),
            key(&|settings| settings.credentials = shared(1).trusting([identity(2).public()])),
        ];
        for (number, one) in keys.iter().enumerate() {
            assert!(!keys[..number].contains(one), "{number}");
        }
        assert_eq!(key(&|settings| settings.credentials = shared(1)), keys[2]);
    }

    #[test]
    fn tickets_age_while_they_are_saved() {
        let (cache, start) = (EarlyCache::new(), Instant::now());
        let at = |seconds| Clocks {
            now: start + Duration::from_secs(seconds),
            since_1970: Duration::from_secs(1_000_000 + seconds),
        };
        cache.remember(&key(1), expected(1), ticket(1, start));
        let bytes = cache.encode(at(5)).unwrap();
        // Another process, with another clock, a minute later.
        let later = Clocks { now: start + Duration::from_secs(10_000), ..at(65) };
        let held = decode(&bytes, later).unwrap().remove(0).ticket;
        assert_eq!(later.now - held.received, Duration::from_secs(65));
        // The other clock was set back meanwhile.
        let earlier = Clocks { now: later.now, ..at(0) };
        let held = decode(&bytes, earlier).unwrap().remove(0).ticket;
        assert_eq!(earlier.now - held.received, Duration::from_secs(5));
    }

    #[test]
    fn whatever_is_damaged_is_an_error() {
        let (cache, clocks) = (EarlyCache::new(), Clocks::read());
        (0..3).for_each(|number| cache.remember(&key(number), expected(1), ticket(1, clocks.now)));
        let bytes = cache.encode(clocks).unwrap();
        assert_eq!(decode(&bytes, clocks).unwrap().len(), 3);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged, clocks).is_err(), "bit {bit}");
        }
        assert!((0..bytes.len()).all(|len| decode(&bytes[..len], clocks).is_err()));
    }
}
