//! Counters of the frames that a stack dropped and answered.

use std::ops::AddAssign;

/// Frames that carried no datagram and no segment for an application, by their fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Frames for another interface: for another address or VLAN, or with an unknown protocol.
    pub foreign: u64,
    /// Frames from an address that no sender on a wire has: this interface's own address, a group, a loopback
    /// address.
    pub martians: u64,
    /// Frames that are cut short, have a wrong length or otherwise violate their protocol.
    pub malformed: u64,
    /// Frames with a wrong checksum.
    pub checksum: u64,
    /// Fragments of packets.
    pub fragments: u64,
    /// Requests for this interface's address, and replies to its own requests.
    pub neighbour: u64,
    /// Claims of another host to have this interface's address.
    pub conflicts: u64,
    /// Claims that contradict the address that a neighbour has confirmed. The neighbour is asked.
    pub disputed: u64,
    /// Echo requests, which were answered.
    pub pings: u64,
    /// ICMP errors about datagrams of this interface: undeliverable, or too large for the path.
    pub errors: u64,
    /// Frames of the stack itself that were not sent, since too many waited.
    pub outbox_full: u64,
}

impl Counters {
    /// Returns the number of all frames that were dropped unread.
    pub fn dropped(&self) -> u64 {
        self.foreign + self.martians + self.malformed + self.checksum + self.fragments
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        // The fields are listed by name, so that none is forgotten.
        let Self {
            foreign,
            martians,
            malformed,
            checksum,
            fragments,
            neighbour,
            conflicts,
            disputed,
            pings,
            errors,
            outbox_full,
        } = other;
        self.foreign += foreign;
        self.martians += martians;
        self.malformed += malformed;
        self.checksum += checksum;
        self.fragments += fragments;
        self.neighbour += neighbour;
        self.conflicts += conflicts;
        self.disputed += disputed;
        self.pings += pings;
        self.errors += errors;
        self.outbox_full += outbox_full;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns counters that differ from each other, each a multiple of `unit`.
    fn counters(unit: u64) -> Counters {
        Counters {
            foreign: unit,
            martians: 2 * unit,
            malformed: 3 * unit,
            checksum: 4 * unit,
            fragments: 5 * unit,
            neighbour: 6 * unit,
            conflicts: 7 * unit,
            disputed: 8 * unit,
            pings: 9 * unit,
            errors: 10 * unit,
            outbox_full: 11 * unit,
        }
    }

    #[test]
    fn each_counter_is_added_to_its_own() {
        let mut sum = counters(1);
        sum += counters(10);
        assert_eq!(sum, counters(11));
        assert_eq!(sum.dropped(), 11 * 15);
    }
}
