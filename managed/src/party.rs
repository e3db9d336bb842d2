//! The party whose call a server has.

/// The party that makes a call, as its server sees it: the first sixteen bits of the number that the daemon has given to the call. A party has
/// one number as long as the server has a call of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Party(pub u16);

impl Party {
    /// Returns the party that makes the call of this number.
    pub fn of(call: u64) -> Self {
        Self((call >> Self::COUNTED) as u16)
    }

    /// Returns the number of a call of the party, where `count` tells it from all others.
    pub fn call(self, count: u64) -> u64 {
        u64::from(self.0) << Self::COUNTED | count & ((1 << Self::COUNTED) - 1)
    }

    /// Number of bits that tell calls from each other.
    const COUNTED: u32 = 48;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_call_tells_the_party() {
        for party in [0, 1, u16::MAX] {
            for count in [0, 7, (1 << 48) - 1] {
                let call = Party(party).call(count);
                assert_eq!((Party::of(call), call & ((1 << 48) - 1)), (Party(party), count));
            }
        }
        assert_eq!(Party::of(Party(3).call(u64::MAX)), Party(3));
    }
}
