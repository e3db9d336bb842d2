//! The ports of a transport protocol that are in use.

use super::Binding;
use std::collections::BTreeMap;

/// First ephemeral port (RFC 6335, section 6).
const FIRST_EPHEMERAL: u16 = 49_152;

const EPHEMERAL: u16 = u16::MAX - FIRST_EPHEMERAL + 1;

/// Number of connections and listeners at each port of UDP, or of TCP, by their addresses.
#[derive(Debug, Default)]
pub struct Ports {
    users: BTreeMap<(u16, Binding), usize>,
}

impl Ports {
    /// Creates the table with all ports free.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the bindings with which `port` is in use.
    fn bindings(&self, port: u16) -> impl Iterator<Item = Binding> {
        let [least, greatest] = Binding::RANGE;
        self.users.range((port, least)..=(port, greatest)).map(|((_, binding), _)| *binding)
    }

    /// Returns true if `port` is in use at one of these addresses.
    pub fn is_used(&self, port: u16, at: Binding) -> bool {
        self.bindings(port).any(|binding| binding.overlaps(at))
    }

    /// Takes `port` at these addresses. Returns false if it is in use at one of them.
    pub fn take(&mut self, port: u16, at: Binding) -> bool {
        let free = !self.is_used(port, at);
        if free {
            self.users.insert((port, at), 1);
        }
        free
    }

    /// Takes an ephemeral port that is free at all addresses and `suits`, at the addresses `at`. The search begins
    /// at a port that `random` bits choose, so that strangers can't guess it (RFC 6056, section 3.3.1). Returns
    /// `None` if no port is left.
    pub fn take_any(&mut self, at: Binding, random: u64, suits: impl Fn(u16) -> bool) -> Option<u16> {
        let start = (random % u64::from(EPHEMERAL)) as u16;
        let found = (0..EPHEMERAL)
            .map(|step| FIRST_EPHEMERAL + (start + step) % EPHEMERAL)
            .find(|&port| suits(port) && self.bindings(port).next().is_none())?;
        self.users.insert((found, at), 1);
        Some(found)
    }

    /// Counts another user of a port at these addresses.
    pub fn share(&mut self, port: u16, at: Binding) {
        *self.users.entry((port, at)).or_default() += 1;
    }

    /// Counts a user less of a port at these addresses.
    pub fn release(&mut self, port: u16, at: Binding) {
        if let Some(users) = self.users.get_mut(&(port, at)) {
            *users -= 1;
            if *users == 0 {
                self.users.remove(&(port, at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Binding = Binding::All;

    fn address(number: u8) -> Binding {
        Binding::Address { is_v4: true, number }
    }

    #[test]
    fn ephemeral_ports_are_taken_until_none_is_left() {
        let mut ports = Ports::new();
        assert!(ports.take(FIRST_EPHEMERAL, address(3)) && !ports.take(FIRST_EPHEMERAL, ALL));
        let mut random = u64::MAX - u64::from(EPHEMERAL);
        let next = || {
            random += 1;
            ports.take_any(address(0), random, |_| true)
        };
        let mut given: Vec<u16> = std::iter::from_fn(next).collect();
        assert_eq!(given.len(), usize::from(EPHEMERAL) - 1);
        given.sort_unstable();
        given.dedup();
        assert_eq!((given.len(), given[0]), (usize::from(EPHEMERAL) - 1, FIRST_EPHEMERAL + 1));
        ports.release(60_000, address(0));
        assert_eq!(ports.take_any(ALL, 3, |_| true), Some(60_000));
    }

    #[test]
    fn ports_that_do_not_suit_are_left_out() {
        let mut ports = Ports::new();
        let next = || ports.take_any(ALL, 7, |port| port % 4000 == 1);
        let mut given: Vec<u16> = std::iter::from_fn(next).collect();
        given.sort_unstable();
        assert_eq!(given, [52_001, 56_001, 60_001, 64_001]);
    }

    #[test]
    fn a_port_is_free_when_its_last_user_is_gone() {
        let mut ports = Ports::new();
        assert!(ports.take(9, ALL));
        ports.share(9, address(1));
        ports.release(9, ALL);
        assert!(ports.is_used(9, ALL) && ports.is_used(9, address(1)) && !ports.is_used(9, address(0)));
        ports.release(9, address(1));
        assert!(!ports.is_used(9, ALL));
        ports.release(9, ALL);
    }

    #[test]
    fn a_port_is_in_use_at_its_addresses_alone() {
        let mut ports = Ports::new();
        assert!(ports.take(9, address(0)) && ports.take(9, address(1)) && ports.take(10, ALL));
        assert!(!ports.take(9, address(1)) && !ports.take(9, Binding::Family { is_v4: true }));
        assert!(ports.take(9, Binding::Family { is_v4: false }) && !ports.take(9, ALL));
    }
}
