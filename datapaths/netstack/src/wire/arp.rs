//! ARP for IPv4 over Ethernet (RFC 826).

use crate::MacAddr;
use std::net::Ipv4Addr;

/// Length of a packet.
const LEN: usize = 28;

/// The numbers of Ethernet and IPv4, and the lengths of their addresses.
const ADDRESS_TYPES: [u8; 6] = [0, 1, 8, 0, 6, 4];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Request,
    Reply,
}

/// A request or a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ArpPacket {
    pub(crate) operation: Operation,
    pub(crate) sender_mac: MacAddr,
    pub(crate) sender: Ipv4Addr,
    pub(crate) target_mac: MacAddr,
    pub(crate) target: Ipv4Addr,
}

impl ArpPacket {
    /// Creates the question for the hardware address of `target`.
    pub(crate) fn request(sender_mac: MacAddr, sender: Ipv4Addr, target: Ipv4Addr) -> Self {
        Self { operation: Operation::Request, sender_mac, sender, target_mac: MacAddr([0; 6]), target }
    }

    /// Parses the packet at the front of `bytes`. Returns `None` if it is neither request nor reply, is about
    /// other protocols, or comes from a hardware address that no interface has.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let packet: &[u8; LEN] = bytes.first_chunk()?;
        let operation = match packet[6..8] {
            [0, 1] => Operation::Request,
            [0, 2] => Operation::Reply,
            _ => return None,
        };
        let [.., s0, s1, s2, s3, s4, s5, i0, i1, i2, i3, t0, t1, t2, t3, t4, t5, j0, j1, j2, j3] = *packet;
        let parsed = Self {
            operation,
            sender_mac: MacAddr([s0, s1, s2, s3, s4, s5]),
            sender: Ipv4Addr::new(i0, i1, i2, i3),
            target_mac: MacAddr([t0, t1, t2, t3, t4, t5]),
            target: Ipv4Addr::new(j0, j1, j2, j3),
        };
        (packet[..6] == ADDRESS_TYPES && parsed.sender_mac.is_unicast()).then_some(parsed)
    }

    /// Writes the packet to the front of `bytes`, which is long enough, and returns its length.
    pub(crate) fn emit(&self, bytes: &mut [u8]) -> usize {
        bytes[..6].copy_from_slice(&ADDRESS_TYPES);
        let operation = match self.operation {
            Operation::Request => [0, 1],
            Operation::Reply => [0, 2],
        };
        bytes[6..8].copy_from_slice(&operation);
        bytes[8..14].copy_from_slice(&self.sender_mac.0);
        bytes[14..18].copy_from_slice(&self.sender.octets());
        bytes[18..24].copy_from_slice(&self.target_mac.0);
        bytes[24..28].copy_from_slice(&self.target.octets());
        LEN
    }
}
