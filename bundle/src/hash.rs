//! Hashes of packets and of flows, equal at both boxes and on every machine.

/// Mixes a number into a hash, so that each bit of both changes about half of the result's bits: the lowest
/// bits alone decide about boundaries. The multipliers are those of SplitMix64 (Steele and others, 2014).
pub(crate) fn mix(hash: u64, number: u64) -> u64 {
    let mut mixed = (hash ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::mix;

    #[test]
    fn consecutive_numbers_hit_each_low_pattern_equally() {
        for key in [0, 1, u64::MAX] {
            let hits = (0..65_536).filter(|number| mix(key, *number).is_multiple_of(64)).count();
            assert!((900..1_150).contains(&hits), "{hits} of 1,024");
        }
    }
}
