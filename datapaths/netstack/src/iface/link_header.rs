//! The Ethernet header in front of packets to a peer.

use super::Interface;
use crate::MacAddr;
use crate::wire::ethernet::{self, EtherType, EthernetHeader};
use std::net::IpAddr;
use std::time::Instant;

/// The header of frames with IP packets to a peer, or to the gateway on its way. The value is valid as long
/// as [`Stack::is_link_current`](crate::Stack::is_link_current) returns true.
#[derive(Debug, Clone)]
pub struct LinkHeader {
    bytes: [u8; ethernet::HEADER + ethernet::TAG],
    len: usize,
    pub(crate) generation: u32,
    pub(crate) until: Instant,
}

impl LinkHeader {
    pub(crate) fn new(
        interface: &Interface,
        peer: IpAddr,
        neighbour: MacAddr,
        generation: u32,
        until: Instant,
    ) -> Self {
        let mut bytes = [0; ethernet::HEADER + ethernet::TAG];
        let ethertype = if peer.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        let source = interface.mac;
        let vlan = interface.vlan;
        let len = EthernetHeader { destination: neighbour, source, vlan, ethertype }.emit(&mut bytes);
        Self { bytes, len, generation, until }
    }

    /// Returns the bytes of the header.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
