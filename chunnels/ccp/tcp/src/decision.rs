//! The decision for a flow.

use crate::fields::Fields;
use bertha_chunnels::congestion::NewFlow;
use bertha_core::Addr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Number of bytes of a decision.
pub(crate) const LENGTH: usize = 72;

/// Number of bytes in front of the description of the flow.
const DECIDED: usize = 24;

const IPV6: u16 = 10;

/// The entry of one flow in the kernel's map: `struct decision` in bpf/exchange.h. The kernel writes what the flow is; this process
/// writes what is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision([u8; LENGTH]);

impl Decision {
    /// Reads an entry. Returns `None` if its length is another.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Decides on a window in bytes, and a rate in bytes per second, after the measurement of this number.
    pub(crate) fn decide(&mut self, window: u64, rate: Option<u64>, answered: u64) {
        // A rate of 0 would be none.
        let rate = rate.map_or(0, |rate| rate.max(1));
        let words = [window, rate, answered];
        for (place, word) in self.0.as_chunks_mut().0.iter_mut().zip(words) {
            *place = word.to_ne_bytes();
        }
    }

    pub(crate) fn bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// Returns what the kernel tells about the flow.
    pub(crate) fn flow(&self) -> Option<NewFlow> {
        let mut fields = Fields(self.0.get(DECIDED..)?);
        let (local, peer): ([u8; 16], [u8; 16]) = (fields.bytes()?, fields.bytes()?);
        let (local_port, peer_port) = (fields.u16()?, u16::from_be_bytes(fields.bytes()?));
        let (family, has_marks) = (fields.u16()?, fields.u16()? != 0);
        let packet = fields.u32()?;
        let addr = |ip: [u8; 16], port| Addr::Ip(SocketAddr::new(address(ip, family), port));
        Some(NewFlow {
            packet: packet.max(1).into(),
            local: addr(local, local_port),
            peer: addr(peer, peer_port),
            has_marks,
        })
    }
}

fn address(bytes: [u8; 16], family: u16) -> IpAddr {
    match (family, bytes) {
        (IPV6, _) => Ipv6Addr::from(bytes).to_canonical(),
        (_, [a, b, c, d, ..]) => Ipv4Addr::new(a, b, c, d).into(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns the entry of a flow that has just begun.
    pub(crate) fn begun(ip: [u8; 16], family: u16) -> Decision {
        let mut bytes = [0; LENGTH];
        bytes[24..40].copy_from_slice(&ip);
        bytes[40..56].copy_from_slice(&ip);
        bytes[56..58].copy_from_slice(&80_u16.to_ne_bytes());
        bytes[58..60].copy_from_slice(&443_u16.to_be_bytes());
        bytes[60..62].copy_from_slice(&family.to_ne_bytes());
        bytes[62..64].copy_from_slice(&1_u16.to_ne_bytes());
        bytes[64..68].copy_from_slice(&1_000_u32.to_ne_bytes());
        Decision(bytes)
    }

    /// Returns window, rate and the answered measurement.
    pub(crate) fn decided(decision: &Decision) -> [u64; 3] {
        let mut fields = Fields(decision.bytes());
        [(); 3].map(|()| fields.u64().unwrap())
    }

    #[test]
    fn the_kernel_names_a_flow_and_this_process_decides() {
        let mut ip = [0; 16];
        ip[..4].copy_from_slice(&[10, 0, 0, 1]);
        let of = |decision: &Decision| {
            let NewFlow { packet, local, peer, has_marks } = decision.flow().unwrap();
            (packet, local.to_string(), peer.to_string(), has_marks)
        };
        let mut decision = begun(ip, 2);
        let flow = (1_000, "10.0.0.1:80".to_owned(), "10.0.0.1:443".to_owned(), true);
        assert_eq!(of(&decision), flow);
        let one = begun(Ipv6Addr::LOCALHOST.octets(), IPV6);
        assert_eq!(of(&one).1, "[::1]:80");
        assert_eq!(decided(&decision), [0; 3]);
        decision.decide(5, None, 1);
        assert_eq!(decided(&decision), [5, 0, 1]);
        decision.decide(6, Some(0), 2);
        assert_eq!(decided(&decision), [6, 1, 2]);
        assert_eq!(of(&decision), flow);
    }
}
