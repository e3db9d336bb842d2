//! The headers that a flow's next datagram will have.

use super::{Checksums, Flow, Interface};
use crate::wire::checksum::Sum;
use crate::wire::ethernet::{self, EtherType};
use crate::wire::ipv4::{self, Ipv4Header};
use crate::wire::{IpProtocol, udp};
use std::net::IpAddr;
use std::ops::Range;

/// Length of the headers: Ethernet without a tag, IPv4 without options, UDP.
const HEADERS: usize = ethernet::HEADER + ipv4::HEADER + udp::HEADER;

/// The headers of a flow's arriving datagrams, as far as they are alike, so that a few comparisons of words
/// recognise a frame without parsing it (header prediction, as V. Jacobson did for TCP).
///
/// A prediction serves IPv4 without a VLAN. A frame that it does not [recognise](Self::payload) is not wrong:
/// [`Stack::receive`](crate::Stack::receive) decides.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The words of the headers; bits that are not predicted are zero.
    words: [u64; MASKS.len()],
    /// The sum of both addresses.
    addresses: Sum,
    /// The sum of UDP's pseudo-header without the length, and of the ports.
    sum: Sum,
    /// True if UDP's checksum is not verified.
    unchecked: bool,
}

/// Masks of the bits of the headers' words that are compared. Frames begin at a cache line, so each word lies
/// within a line, and within a single one of the stores with which a driver has just copied it: a load across
/// two stores has to wait for both.
///
/// The words compare, in order: the destination address of Ethernet, and the source's bit for groups;
/// EtherType, version and header length; the fragment fields (no fragment follows, the offset is zero) and
/// the protocol; the source address and half of the destination address; the other half of the destination
/// address, and the ports.
const MASKS: [[u8; 8]; 5] = [
    [255, 255, 255, 255, 255, 255, 1, 0],
    [0, 0, 0, 0, 255, 255, 255, 0],
    [0, 0, 0, 0, 0x3f, 255, 0, 255],
    [0, 0, 255, 255, 255, 255, 255, 255],
    [255, 255, 255, 255, 255, 255, 0, 0],
];

impl Prediction {
    /// Predicts datagrams of `flow` to `interface`, whose UDP checksum is verified unless they are
    /// `unchecked`. Returns `None` if the flow is not over IPv4, or the interface is in a VLAN.
    pub(crate) fn new(interface: &Interface, flow: Flow, unchecked: bool) -> Option<Self> {
        let (IpAddr::V4(own), IpAddr::V4(peer)) = (interface.own(flow)?, flow.peer().ip()) else {
            return None;
        };
        if interface.vlan.is_some() || interface.is_martian(peer.into()) {
            return None;
        }
        let mut headers = [0; HEADERS];
        let at = ethernet::HEADER;
        headers[..6].copy_from_slice(&interface.mac.0);
        headers[at - 2..at].copy_from_slice(&EtherType::IPV4.0.to_be_bytes());
        let ip = Ipv4Header::new(peer, own, IpProtocol::UDP, 0);
        ip.emit(&mut headers[at..]);
        let ports = at + ipv4::HEADER;
        headers[ports..ports + 2].copy_from_slice(&flow.peer().port().to_be_bytes());
        headers[ports + 2..ports + 4].copy_from_slice(&flow.local_port().to_be_bytes());
        let addresses = Sum::of(&peer.octets()).and(Sum::of(&own.octets()));
        let sum = ip.pseudo_header().and(Sum::of(&headers[ports..ports + 4]));
        // The packet is no fragment; the bit that forbids fragmentation is masked out.
        let words = std::array::from_fn(|number| word(&headers, number) & u64::from_ne_bytes(MASKS[number]));
        Some(Self { words, addresses, sum, unchecked })
    }

    /// Returns the range of the payload in `frame`, if the frame is an undamaged datagram of this flow.
    /// Checksums that the port has not verified are verified here.
    // Inlining is forced, since the function is called in loops: a call would save and restore registers for
    // each frame.
    #[inline(always)]
    pub fn payload(&self, frame: &[u8], checksums: Checksums) -> Option<Range<usize>> {
        let headers = frame.first_chunk::<HEADERS>()?;
        let differing = (0..MASKS.len()).fold(0, |all, number| {
            all | word(headers, number) & u64::from_ne_bytes(MASKS[number]) ^ self.words[number]
        });
        if differing != 0 {
            return None;
        }
        let [.., l0, l1, _, _] = *headers;
        let len = u16::from_be_bytes([l0, l1]);
        let total = u16::from_be_bytes([headers[16], headers[17]]);
        let payload = HEADERS..ethernet::HEADER + usize::from(total);
        if usize::from(len) + ipv4::HEADER != usize::from(total) || usize::from(len) < udp::HEADER {
            return None;
        }
        let bytes = frame.get(payload.clone())?;
        // Most ports verify nothing.
        let valid = if checksums == Checksums::Unknown {
            self.header_is_valid(headers) && (self.unchecked || self.payload_is_valid(headers, len, bytes))
        } else {
            self.are_valid(checksums, headers, len, bytes)
        };
        valid.then_some(payload)
    }

    /// Verifies the checksums that the port has not verified. Returns true if they are valid.
    #[inline(never)]
    fn are_valid(&self, by_port: Checksums, headers: &[u8; HEADERS], len: u16, payload: &[u8]) -> bool {
        by_port != Checksums::Bad
            && (by_port.header() || self.header_is_valid(headers))
            && (self.unchecked || by_port.payload() || self.payload_is_valid(headers, len, payload))
    }

    /// Verifies the checksum of an IPv4 header that matches the prediction. Besides the addresses, the sum
    /// consists of the type of service, the word with length and time to live, and the checksum.
    #[inline]
    fn header_is_valid(&self, headers: &[u8; HEADERS]) -> bool {
        let [service, checksum] = [14, 24].map(|at| u16::from_ne_bytes([headers[at], headers[at + 1]]));
        Sum::of_long_word(word(headers, 2))
            .and(self.addresses)
            .and(Sum::of_word(service))
            .and(Sum::of_word(checksum))
            .is_valid()
    }

    // Inlining is forced, since the compiler can't tell which of its two callers is the frequent caller.
    #[inline(always)]
    fn payload_is_valid(&self, headers: &[u8; HEADERS], len: u16, payload: &[u8]) -> bool {
        let [.., c0, c1] = *headers;
        // Zero stands for no checksum (RFC 768). The length counts twice: in the header, and in the pseudo-header.
        [c0, c1] == [0, 0]
            || self
                .sum
                .and_number(len)
                .and_number(len)
                .and(Sum::of_word(u16::from_ne_bytes([c0, c1])))
                .and(Sum::of(payload))
                .is_valid()
    }
}

/// Returns the headers' `number`th eight bytes as they lie in memory.
#[inline]
fn word(headers: &[u8; HEADERS], number: usize) -> u64 {
    headers[8 * number..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}
