//! The function from keys to shards.

use std::num::NonZero;

/// The number of bytes of a key that are hashed.
pub(super) const HASHED_BYTES: usize = 4;

/// Returns the shard of `key` out of `shards`, counted from 0: the 64-bit FNV-1a hash of the key's first four
/// bytes (of all bytes, if it is shorter) modulo the number of shards.
///
/// Four bytes at a known offset can be read out of a message without decoding it. They are enough for keys
/// that differ there; see [`ShardMap::skip`](super::ShardMap::skip) for other keys.
#[inline]
pub fn shard_of(key: &[u8], shards: NonZero<usize>) -> usize {
    let hashed = &key[..key.len().min(HASHED_BYTES)];
    // The result is smaller than `shards`, so it fits into `usize`.
    (fnv1a(hashed) % shards.get() as u64) as usize
}

#[inline]
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv1a() {
        // The values are from the test program that the function's authors publish.
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325_u64),
            ("a", 0xaf63_dc4c_8601_ec8c),
            ("fo", 0x0898_5907_b541_d342),
            ("foo", 0xdcb2_7518_fed9_d577),
            ("foob", 0xdd12_0e79_0c25_12af),
            ("foobar", 0x8594_4171_f739_67e8),
        ] {
            assert_eq!(fnv1a(text.as_bytes()), hash, "{text}");
        }
    }

    #[test]
    fn only_the_first_four_bytes_count() {
        let shards = NonZero::new(1021).unwrap();
        assert_eq!(shard_of(b"foobar", shards), shard_of(b"foob", shards));
        assert_eq!(shard_of(b"foobar", shards) as u64, 0xdd12_0e79_0c25_12af % 1021);
        assert_eq!(shard_of(b"foo", shards) as u64, 0xdcb2_7518_fed9_d577 % 1021);
    }
}
