//! The frames that a stack dropped and answered.

use std::ops::AddAssign;

/// Frames that carried no datagram and no segment for an application, by what became of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Not for this interface: another address, another VLAN, or an unknown protocol.
    pub foreign: u64,
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
        self.foreign + self.malformed + self.checksum + self.fragments
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        // By name, so that none is forgotten.
        let Self {
            foreign,
            malformed,
            checksum,
            fragments,
            neighbour,
            conflicts,
            pings,
            errors,
            outbox_full,
        } = other;
        self.foreign += foreign;
        self.malformed += malformed;
        self.checksum += checksum;
        self.fragments += fragments;
        self.neighbour += neighbour;
        self.conflicts += conflicts;
        self.pings += pings;
        self.errors += errors;
        self.outbox_full += outbox_full;
    }
}
