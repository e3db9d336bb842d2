//! The anti-amplification limit, by which a server is of no use for attacks on other hosts.

/// Maximum number of bytes that a server sends for each byte that it has received, to an address that may not
/// be the sender's (RFC 9000 section 8.1).
const AMPLIFICATION: usize = 3;

/// The anti-amplification limit: the number of bytes that may still be sent to an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmplificationLimit(usize);

impl AmplificationLimit {
    /// The limit for an address that certainly is the sender's.
    pub const UNLIMITED: Self = Self(usize::MAX);

    /// Returns the limit after a first message of `len` bytes.
    pub fn of(len: usize) -> Self {
        Self(len.saturating_mul(AMPLIFICATION))
    }

    /// Returns the number of bytes that may still be sent.
    pub fn left(self) -> usize {
        self.0
    }

    /// Raises the limit by the allowance of a further message of `len` bytes.
    pub fn receive(&mut self, len: usize) {
        self.0 = self.0.saturating_add(len.saturating_mul(AMPLIFICATION));
    }

    /// Raises the limit by another limit.
    pub(crate) fn add(&mut self, other: Self) {
        self.0 = self.0.saturating_add(other.0);
    }

    /// Returns true if `len` bytes may be sent. Then they count as sent.
    pub fn spend(&mut self, len: usize) -> bool {
        if *self == Self::UNLIMITED {
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
        let mut limit = AmplificationLimit::of(10);
        assert!(limit.spend(20) && !limit.spend(11) && limit.spend(10) && !limit.spend(1));
        limit.receive(1);
        assert!(limit.spend(3) && !limit.spend(1));
        let mut unlimited = AmplificationLimit::UNLIMITED;
        assert!(unlimited.spend(usize::MAX) && unlimited.spend(1));
        unlimited.receive(1);
        assert!(unlimited.spend(usize::MAX));
    }

    #[test]
    fn limits_add_up() {
        let mut limit = AmplificationLimit::of(10);
        limit.add(AmplificationLimit::of(2));
        assert_eq!(limit.left(), 36);
        assert!(limit.spend(7));
        assert_eq!(limit.left(), 29);
    }
}
