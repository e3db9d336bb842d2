//! ARP for IPv4 over Ethernet (RFC 826).

use crate::MacAddr;
use std::net::Ipv4Addr;

/// The length of a packet.
pub(crate) const LEN: usize = 28;

/// Ethernet, IPv4, and the lengths of their addresses.
const KINDS: [u8; 6] = [0, 1, 8, 0, 6, 4];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Request,
    Reply,
}

/// A packet that was read, or is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arp {
    pub(crate) operation: Operation,
    pub(crate) sender: (MacAddr, Ipv4Addr),
    pub(crate) target: (MacAddr, Ipv4Addr),
}

impl Arp {
    /// The packet at the beginning of `bytes`, behind which padding may lie. Nothing if it is no request or reply, is about
    /// other protocols, or comes from an address that no interface has.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let packet: &[u8; LEN] = bytes.first_chunk()?;
        let operation = match packet[6..8] {
            [0, 1] => Operation::Request,
            [0, 2] => Operation::Reply,
            _ => return None,
        };
        let [.., s0, s1, s2, s3, s4, s5, i0, i1, i2, i3, t0, t1, t2, t3, t4, t5, j0, j1, j2, j3] = *packet;
        let sender = (MacAddr([s0, s1, s2, s3, s4, s5]), Ipv4Addr::new(i0, i1, i2, i3));
        let target = (MacAddr([t0, t1, t2, t3, t4, t5]), Ipv4Addr::new(j0, j1, j2, j3));
        (packet[..6] == KINDS && sender.0.is_unicast()).then_some(Self { operation, sender, target })
    }

    /// Writes the packet to the beginning of `bytes`, which is long enough, and returns its length.
    pub(crate) fn write(&self, bytes: &mut [u8]) -> usize {
        bytes[..6].copy_from_slice(&KINDS);
        let operation = match self.operation {
            Operation::Request => [0, 1],
            Operation::Reply => [0, 2],
        };
        bytes[6..8].copy_from_slice(&operation);
        bytes[8..14].copy_from_slice(&self.sender.0.0);
        bytes[14..18].copy_from_slice(&self.sender.1.octets());
        bytes[18..24].copy_from_slice(&self.target.0.0);
        bytes[24..28].copy_from_slice(&self.target.1.octets());
        LEN
    }
}
