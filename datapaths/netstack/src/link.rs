//! The Ethernet header in front of packets to one peer.

use crate::ethernet::{self, EtherType, Ethernet};
use crate::{Interface, MacAddr};
use std::net::IpAddr;
use std::time::Instant;

/// The header of frames that carry IP packets to a peer, or to the gateway on its way. Good for as long as
/// [`Stack::is_known`](crate::Stack::is_known) says so.
#[derive(Debug, Clone)]
pub struct Link {
    header: [u8; ethernet::HEADER + ethernet::TAG],
    len: usize,
    pub(crate) generation: u32,
    pub(crate) until: Instant,
}

impl Link {
    pub(crate) fn new(
        interface: &Interface,
        peer: IpAddr,
        neighbour: MacAddr,
        generation: u32,
        until: Instant,
    ) -> Self {
        let mut header = [0; ethernet::HEADER + ethernet::TAG];
        let carries = if peer.is_ipv4() { EtherType::IPV4 } else { EtherType::IPV6 };
        let len = Ethernet::write(&mut header, neighbour, interface.mac, interface.vlan, carries);
        Self { header, len, generation, until }
    }

    /// The header.
    pub fn header(&self) -> &[u8] {
        &self.header[..self.len]
    }
}
