//! The ports of a transport protocol that are in use.

use ahash::RandomState;
use std::collections::HashMap;

/// First ephemeral port (RFC 6335, section 6).
const FIRST_EPHEMERAL: u16 = 49_152;

const EPHEMERAL: u16 = u16::MAX - FIRST_EPHEMERAL + 1;

/// Number of connections and listeners at each port of UDP, or of TCP.
#[derive(Debug, Default)]
pub struct Ports {
    users: HashMap<u16, usize, RandomState>,
}

impl Ports {
    /// Creates the table with all ports free.
    pub fn new() -> Self {
        Self { users: HashMap::with_hasher(RandomState::new()) }
    }

    /// Returns true if `port` is in use.
    pub fn is_used(&self, port: u16) -> bool {
        self.users.contains_key(&port)
    }

    /// Takes `port`. Returns false if it is in use.
    pub fn take(&mut self, port: u16) -> bool {
        let free = !self.is_used(port);
        if free {
            self.users.insert(port, 1);
        }
        free
    }

    /// Takes a free ephemeral port that `suits`. The search begins at a port that `random` bits choose, so
    /// that strangers can't guess it (RFC 6056, section 3.3.1). Returns `None` if no port is left.
    pub fn take_any(&mut self, random: u64, suits: impl Fn(u16) -> bool) -> Option<u16> {
        let start = (random % u64::from(EPHEMERAL)) as u16;
        (0..EPHEMERAL)
            .map(|step| FIRST_EPHEMERAL + (start + step) % EPHEMERAL)
            .find(|&port| suits(port) && self.take(port))
    }

    /// Counts another user of a port.
    pub fn share(&mut self, port: u16) {
        *self.users.entry(port).or_default() += 1;
    }

    /// Counts a user less of a port.
    pub fn release(&mut self, port: u16) {
        if let Some(users) = self.users.get_mut(&port) {
            *users -= 1;
            if *users == 0 {
                self.users.remove(&port);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ephemeral_ports_are_taken_until_none_is_left() {
        let mut ports = Ports::new();
        assert!(ports.take(FIRST_EPHEMERAL) && !ports.take(FIRST_EPHEMERAL));
        let mut random = u64::MAX - u64::from(EPHEMERAL);
        let next = || {
            random += 1;
            ports.take_any(random, |_| true)
        };
        let mut given: Vec<u16> = std::iter::from_fn(next).collect();
        assert_eq!(given.len(), usize::from(EPHEMERAL) - 1);
        given.sort_unstable();
        given.dedup();
        assert_eq!((given.len(), given[0]), (usize::from(EPHEMERAL) - 1, FIRST_EPHEMERAL + 1));
        ports.release(60_000);
        assert_eq!(ports.take_any(3, |_| true), Some(60_000));
    }

    #[test]
    fn ports_that_do_not_suit_are_left_out() {
        let mut ports = Ports::new();
        let mut given: Vec<u16> = std::iter::from_fn(|| ports.take_any(7, |port| port % 4000 == 1)).collect();
        given.sort_unstable();
        assert_eq!(given, [52_001, 56_001, 60_001, 64_001]);
    }

    #[test]
    fn a_port_is_free_when_its_last_user_is_gone() {
        let mut ports = Ports::new();
        assert!(ports.take(9));
        ports.share(9);
        ports.release(9);
        assert!(ports.is_used(9));
        ports.release(9);
        assert!(!ports.is_used(9));
        ports.release(9);
    }
}
