//! Not being used against others.

/// A server sends at most this many times the bytes that it has received to an address that may not be the sender's
/// (RFC 9000 section 8.1).
const AMPLIFICATION: usize = 3;

/// How much may still be sent to such an address, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Credit(usize);

impl Credit {
    /// The credit after a first message of `len` bytes.
    pub fn of(len: usize) -> Self {
        Self(len.saturating_mul(AMPLIFICATION))
    }

    /// For an address that is known to be the sender's.
    pub const UNLIMITED: Self = Self(usize::MAX);

    /// How much is left.
    pub fn left(self) -> usize {
        self.0
    }

    /// Adds the credit for a further message of `len` bytes.
    pub fn receive(&mut self, len: usize) {
        self.0 = self.0.saturating_add(len.saturating_mul(AMPLIFICATION));
    }

    /// Adds the credit left of another.
    pub(crate) fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// Whether `len` bytes may be sent, which then count as sent.
    pub fn spend(&mut self, len: usize) -> bool {
        if self.0 == usize::MAX {
            return true;
        }
        let left = self.0.checked_sub(len);
        self.0 = left.unwrap_or(self.0);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_times_what_was_received_may_be_sent() {
        let mut credit = Credit::of(10);
        assert!(credit.spend(20) && !credit.spend(11) && credit.spend(10) && !credit.spend(1));
        credit.receive(1);
        assert!(credit.spend(3) && !credit.spend(1));
        let mut unlimited = Credit::UNLIMITED;
        assert!(unlimited.spend(usize::MAX) && unlimited.spend(1));
        unlimited.receive(1);
        assert!(unlimited.spend(usize::MAX));
    }
}
