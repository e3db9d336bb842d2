//! The frames that a stack dropped and answered.

use std::ops::AddAssign;

/// Frames that carried no datagram and no segment for an application, by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Not for this interface: another address, another VLAN, or something unknown in it.
    pub foreign: u64,
    /// From an address that no sender on a wire has: this interface's own, a group's, a loopback address.
    pub martians: u64,
    /// Cut short, with a wrong length or otherwise not as its protocol has it.
    pub malformed: u64,
    /// With a wrong checksum.
    pub checksum: u64,
    /// Parts of a fragmented packet.
    pub fragments: u64,
    /// Requests for this interface's address, and replies to its own.
    pub neighbour: u64,
    /// Claims of another host to have this interface's address.
    pub conflicts: u64,
    /// Claims of another address for a neighbour than the one that it has confirmed. The neighbour is asked.
    pub disputed: u64,
    /// Echo requests, which were answered.
    pub pings: u64,
    /// ICMP errors about datagrams of this interface: undeliverable, or too large for the path.
    pub errors: u64,
    /// Frames of the stack's own that were not sent, since too many waited.
    pub outbox_full: u64,
}

impl Counters {
    /// All frames that were dropped unread.
    pub fn dropped(&self) -> u64 {
        self.foreign + self.martians + self.malformed + self.checksum + self.fragments
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        // By name, so that none is forgotten.
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
