//! Pages: the records that a scan returns.

use std::fmt;
use std::sync::Arc;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{Key, MAX_KEY, MAX_SCAN, MAX_VALUE};

/// A record in a [`Page`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Key of the record.
    pub key: Key,
    /// Value of the record.
    #[serde(with = "crate::contiguous")]
    pub value: Arc<[u8]>,
}

/// The reply to a scan: records that follow one another in the order of the bytes of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The records from the key of the scan up to `next`, at most [`MAX_SCAN`].
    #[serde(deserialize_with = "at_most_a_scan")]
    pub records: Vec<Record>,
    /// Key at which the next scan has to go on; `None` if no records follow. A page can be empty and still
    /// have a next key, which is then above the key of the scan.
    pub next: Option<Key>,
}

/// Bounds of a page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageLimits {
    /// Maximum number of records, at least 1.
    pub(crate) records: usize,
    /// Maximum number of bytes of all records in their encoding. A single record may have more.
    pub(crate) bytes: usize,
}

/// Maximum number of bytes that a codec adds to a record: two lengths of eight bytes.
const RECORD_HEADERS: usize = 16;

/// Maximum number of bytes of a reply beside its records: two keys, the id, the kind of the body and four
/// lengths.
const REPLY_HEADERS: usize = 2 * MAX_KEY + 64;

impl PageLimits {
    /// Returns the limits of the reply to a scan for `count` records in `room` bytes.
    pub(crate) fn new(count: u32, room: u32) -> Self {
        let size = |number| usize::try_from(number).unwrap_or(usize::MAX);
        let bytes = size(room).saturating_sub(REPLY_HEADERS).min(MAX_VALUE);
        Self { records: size(count).clamp(1, MAX_SCAN), bytes }
    }

    /// Returns the limits of the page of each shard, of which [`Page::merged`] makes a page with these
    /// limits.
    ///
    /// Keys are spread by a hash, so the number of a shard's records among `records` consecutive records is
    /// about normally distributed. Four standard deviations above the mean are almost always enough; a merged
    /// page that has less records is shorter than it could be, and still correct.
    pub(crate) fn share(self, shards: usize) -> Self {
        let mean = self.records.div_ceil(shards.max(1));
        Self { records: self.records.min(mean + 4 * mean.isqrt() + 4), ..self }
    }
}

/// A page that is being filled with records in the order of their keys.
#[derive(Debug)]
pub(crate) struct Filling {
    page: Page,
    bytes: usize,
    limits: PageLimits,
}

impl Filling {
    pub(crate) fn new(limits: PageLimits) -> Self {
        Self { page: Page::default(), bytes: 0, limits }
    }

    /// Adds a record, if there is room for it; otherwise the page ends before the record, and the result is
    /// false. A page also ends before a value that fits no message: another protocol with more room has put
    /// it.
    pub(crate) fn add(&mut self, record: Record) -> bool {
        let length = record.key.len() + record.value.len() + RECORD_HEADERS;
        let count = self.page.records.len();
        let is_full = count >= self.limits.records || count > 0 && self.bytes + length > self.limits.bytes;
        if is_full || record.value.len() > MAX_VALUE {
            self.page.next = Some(record.key);
            return false;
        }
        self.bytes += length;
        self.page.records.push(record);
        true
    }

    /// Returns the page, which ends before `next`.
    pub(crate) fn until(self, next: Option<Key>) -> Page {
        Page { next, ..self.page }
    }

    /// Returns the page, which ends before the record that was not added, if there is such a record.
    pub(crate) fn finish(self) -> Page {
        self.page
    }
}

impl Page {
    /// Merges the pages of shards, which all begin at a common key. Of several records with a common key, the
    /// record of the shard counts that `home` returns for the key.
    pub(crate) fn merged(
        pages: impl IntoIterator<Item = (usize, Self)>,
        limits: PageLimits,
        home: impl Fn(&Key) -> usize,
    ) -> Self {
        let mut records = Vec::new();
        let mut end: Option<Key> = None;
        for (shard, page) in pages {
            records.extend(page.records.into_iter().map(|record| (shard, record)));
            // Beyond the end of any page, records of its shard are missing.
            end = match (end, page.next) {
                (Some(one), Some(another)) => Some(one.min(another)),
                (one, another) => one.or(another),
            };
        }
        // A stable sort merges the runs that the pages are.
        records.sort_by(|(_, one), (_, another)| one.key.cmp(&another.key));
        records.dedup_by(|later, earlier| {
            let is_double = later.1.key == earlier.1.key;
            if is_double && later.0 == home(&later.1.key) {
                std::mem::swap(later, earlier);
            }
            is_double
        });
        let mut filling = Filling::new(limits);
        for (_, record) in records {
            if end.as_ref().is_some_and(|end| record.key >= *end) {
                break;
            }
            if !filling.add(record) {
                return filling.finish();
            }
        }
        filling.until(end)
    }
}

/// Decodes records. A record takes more memory than bytes on the wire, so the peer does not choose their
/// number.
fn at_most_a_scan<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Record>, D::Error> {
    struct Records;

    impl<'de> Visitor<'de> for Records {
        type Value = Vec<Record>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {MAX_SCAN} records")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<Record>, A::Error> {
            let mut records = Vec::with_capacity(list.size_hint().unwrap_or(0).min(MAX_SCAN));
            while let Some(record) = list.next_element()? {
                if records.len() == MAX_SCAN {
                    return Err(A::Error::invalid_length(MAX_SCAN + 1, &self));
                }
                records.push(record);
            }
            Ok(records)
        }
    }

    deserializer.deserialize_seq(Records)
}

#[cfg(test)]
mod tests;
