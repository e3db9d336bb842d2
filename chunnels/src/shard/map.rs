//! The shards of a service.

use super::hash::{HASHED_BYTES, shard_of};
use super::{RoutedBy, Sharding};
use bertha_core::{Addr, Error, ErrorKind};
use std::collections::HashSet;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

/// Maximum number of shards in a map.
pub const MAX_SHARDS: usize = 1024;

/// The shards of a service, in order, and the part of a key that counts. It is cheap to clone.
#[derive(Clone, PartialEq, Eq)]
pub struct ShardMap {
    shards: Arc<[Addr]>,
    count: NonZero<usize>,
    skip: usize,
}

impl ShardMap {
    /// Makes a map of the shards at these addresses. Their order counts, since keys are mapped to positions.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) for no shard, more than [`MAX_SHARDS`] shards, a shard without an
    /// address, and a duplicate address.
    pub fn new(shards: impl IntoIterator<Item = Addr>) -> Result<Self, Error> {
        let shards: Arc<[Addr]> = shards.into_iter().take(MAX_SHARDS + 1).collect();
        let Some(count) = NonZero::new(shards.len()).filter(|count| count.get() <= MAX_SHARDS) else {
            let reason = if shards.is_empty() { "none" } else { "more" };
            return Err(invalid(format!(
                "a shard map has 1 to {MAX_SHARDS} shards, but {reason} were given"
            )));
        };
        let mut seen = HashSet::new();
        for (number, shard) in shards.iter().enumerate() {
            if *shard == Addr::Unnamed {
                return Err(invalid(format!("shard {number} has no address that others could reach")));
            }
            if !seen.insert(shard) {
                return Err(invalid(format!("shard {number} at {shard} is in the map already")));
            }
        }
        Ok(Self { shards, count, skip: 0 })
    }

    /// Ignores the first `bytes` bytes of a key.
    ///
    /// [`shard_of`] reads four bytes. Keys with a common prefix, as in `user1000`, `user1001`, would
    /// therefore belong to the same shard; skip the prefix. All keys that are no longer than the prefix
    /// belong to one shard.
    #[must_use]
    pub fn skip(self, bytes: usize) -> Self {
        Self { skip: bytes, ..self }
    }

    /// Returns the number of bytes that are ignored at the start of a key.
    pub(super) fn skipped(&self) -> usize {
        self.skip
    }

    /// Returns the shards' addresses, in order; at least one.
    pub fn shards(&self) -> &[Addr] {
        &self.shards
    }

    /// Returns the number of the shard that `key` belongs to: a position in [`shards`](Self::shards).
    #[inline]
    pub fn shard_of(&self, key: &[u8]) -> usize {
        shard_of(key.get(self.skip..).unwrap_or_default(), self.count)
    }

    /// Returns the capability that the two ends compare.
    pub(super) fn routed_by(&self, routed_by: RoutedBy) -> Sharding {
        Sharding {
            routed_by,
            function: format!("64-bit FNV-1a of {HASHED_BYTES} bytes, modulo"),
            skip: self.skip as u64,
            shards: self.shards.iter().map(Addr::to_string).collect(),
        }
    }
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::Invalid, what).at("ShardMap")
}

impl fmt::Debug for ShardMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shards, skipping {} bytes", self.count, self.skip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn map(count: u16) -> Result<ShardMap, Error> {
        ShardMap::new((0..count).map(|port| Addr::Ip(([127, 0, 0, 1], port).into())))
    }

    #[test]
    fn a_map_has_a_bounded_number_of_distinct_reachable_shards() {
        assert_eq!(map(6).unwrap().shards().len(), 6);
        assert!(map(MAX_SHARDS as u16).is_ok());
        for (bad, why) in [
            (map(0), "none were given"),
            (map(MAX_SHARDS as u16 + 1), "more were given"),
            (ShardMap::new([Addr::Unnamed]), "shard 0 has no address"),
            (
                ShardMap::new(["1.2.3.4:5".parse().unwrap(), "1.2.3.4:5".parse().unwrap()]),
                "shard 1 at 1.2.3.4:5",
            ),
        ] {
            let error = bad.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(why), "{error}");
        }
    }

    /// Returns the keys of YCSB: `user` and a hashed number.
    fn ycsb_keys() -> impl Iterator<Item = String> {
        (0..12_000_u64).map(|record| format!("user{}", record.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1))
    }

    fn load(map: &ShardMap) -> Vec<usize> {
        let mut load = vec![0; map.shards().len()];
        ycsb_keys().for_each(|key| load[map.shard_of(key.as_bytes())] += 1);
        load
    }

    #[test]
    fn keys_that_begin_alike_need_the_skip_to_be_spread() {
        let alike = load(&map(6).unwrap());
        assert_eq!(alike.iter().filter(|&&keys| keys > 0).count(), 1, "{alike:?}");

        let spread = load(&map(6).unwrap().skip(4));
        assert!(spread.iter().all(|keys| (1600..2400).contains(keys)), "{spread:?}");
    }

    proptest! {
        #[test]
        fn the_shard_depends_on_the_four_bytes_behind_the_skip_alone(
            front in prop::collection::vec(any::<u8>(), 0..8),
            other in prop::collection::vec(any::<u8>(), 0..8),
            counted in prop::collection::vec(any::<u8>(), 4),
            tail in prop::collection::vec(any::<u8>(), 0..40),
            shards in 1..=64_u16,
        ) {
            let key = |front: &[u8], tail: &[u8]| [front, &counted, tail].concat();
            let here = map(shards).unwrap().skip(front.len()).shard_of(&key(&front, &tail));
            let there = map(shards).unwrap().skip(other.len()).shard_of(&key(&other, &[]));
            prop_assert_eq!(here, there);
            prop_assert!(here < usize::from(shards));
        }

        #[test]
        fn keys_shorter_than_the_skip_belong_together(
            key in prop::collection::vec(any::<u8>(), 0..=8),
            shards in 1..=64_u16,
        ) {
            let map = map(shards).unwrap().skip(8);
            prop_assert_eq!(map.shard_of(&key), map.shard_of(&[]));
        }
    }
}
