//! What the headers of a flow's next datagram are going to be.

use crate::checksum::Sum;
use crate::{Checksums, Flow, Interface, ethernet, ipv4, udp};
use std::net::IpAddr;
use std::ops::Range;

/// The length of the headers: Ethernet without a tag, IPv4 without options, UDP.
const HEADERS: usize = ethernet::HEADER + ipv4::HEADER + udp::HEADER;

/// The headers that the datagrams of one flow have on arrival, as far as they are alike, so that a frame is known by a few
/// comparisons of words instead of being taken apart (header prediction: V. Jacobson did the same for TCP).
///
/// For IPv4 without a VLAN. What it does not [know](Self::payload) is not wrong: [`Stack::receive`](crate::Stack::receive) judges it.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The words of the headers, where their bits are predicted.
    words: [u64; WORDS.len()],
    /// The sum of both addresses.
    addresses: Sum,
    /// The sum of UDP's pseudo-header without the length, and of the ports.
    sum: Sum,
    /// UDP's checksum counts as right.
    unchecked: bool,
}

/// Which bits of the headers' words are compared. Frames begin with a cache line, so each word lies in one, and in one of
/// the stores that a driver has just copied it with: a word across two is there only when both are done.
///
/// The destination; EtherType, version and header length; no fragment (neither more to come, nor an offset) and the
/// protocol; the source and half of the addressee; the other half, and the ports.
const WORDS: [[u8; 8]; 5] = [
    [255, 255, 255, 255, 255, 255, 0, 0],
    [0, 0, 0, 0, 255, 255, 255, 0],
    [0, 0, 0, 0, 0x3f, 255, 0, 255],
    [0, 0, 255, 255, 255, 255, 255, 255],
    [255, 255, 255, 255, 255, 255, 0, 0],
];

impl Prediction {
    /// Of datagrams of `flow` to `interface`, of which UDP's checksum is looked at unless they stay `unchecked`; nothing if they
    /// are of another kind.
    pub(crate) fn new(interface: &Interface, flow: Flow, unchecked: bool) -> Option<Self> {
        let (own, IpAddr::V4(peer)) = (interface.v4()?, flow.peer().ip()) else { return None };
        if interface.vlan.is_some() || !crate::interface::is_unicast(peer.into()) {
            return None;
        }
        let mut headers = [0; HEADERS];
        let at = ethernet::HEADER;
        headers[..6].copy_from_slice(&interface.mac.0);
        headers[at - 2..at].copy_from_slice(&ethernet::EtherType::IPV4.0.to_be_bytes());
        ipv4::Ipv4::write(&mut headers[at..], peer, own, ipv4::protocol::UDP, 0);
        let ports = at + ipv4::HEADER;
        headers[ports..ports + 2].copy_from_slice(&flow.peer().port().to_be_bytes());
        headers[ports + 2..ports + 4].copy_from_slice(&flow.local_port.to_be_bytes());
        let addresses = Sum::of(&peer.octets()).and(Sum::of(&own.octets()));
        let pseudo = ipv4::pseudo_header(peer, own, ipv4::protocol::UDP);
        let sum = pseudo.and(Sum::of(&headers[ports..ports + 4]));
        // Predicted is that a packet is no fragment, not that it must not become one.
        let words = std::array::from_fn(|number| word(&headers, number) & u64::from_ne_bytes(WORDS[number]));
        Some(Self { words, addresses, sum, unchecked })
    }

    /// Where in `frame` the payload lies, if it is a datagram of this flow that arrived whole. What of its checksums the port has
    /// not said to be right is looked at.
    #[inline]
    pub fn payload(&self, frame: &[u8], checksums: Checksums) -> Option<Range<usize>> {
        let headers = frame.first_chunk::<HEADERS>()?;
        let differing = (0..WORDS.len()).fold(0, |all, number| {
            all | word(headers, number) & u64::from_ne_bytes(WORDS[number]) ^ self.words[number]
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
        // Most ports say nothing.
        let right = if checksums == Checksums::Unknown {
            self.header_is_right(headers) && (self.unchecked || self.payload_is_right(headers, len, bytes))
        } else {
            self.are_right(checksums, headers, len, bytes)
        };
        right.then_some(payload)
    }

    /// What of both checksums the port has left to look at.
    #[inline(never)]
    fn are_right(&self, by_port: Checksums, headers: &[u8; HEADERS], len: u16, payload: &[u8]) -> bool {
        by_port != Checksums::Bad
            && (by_port.header() || self.header_is_right(headers))
            && (self.unchecked || by_port.payload() || self.payload_is_right(headers, len, payload))
    }

    /// Of headers as they are predicted: what is left are type of service, the word with lengths and lifetime, and the checksum.
    #[inline]
    fn header_is_right(&self, headers: &[u8; HEADERS]) -> bool {
        let [service, checksum] = [14, 24].map(|at| u16::from_ne_bytes([headers[at], headers[at + 1]]));
        Sum::of_words((word(headers, 2), 0))
            .and(self.addresses)
            .and(Sum::of_word(service))
            .and(Sum::of_word(checksum))
            .is_right()
    }

    // Always, since the compiler does not see which of its two callers is the frequent one.
    #[inline(always)]
    fn payload_is_right(&self, headers: &[u8; HEADERS], len: u16, payload: &[u8]) -> bool {
        let [.., c0, c1] = *headers;
        // Zero says that there is none (RFC 768). The length counts twice: in the header, and in the pseudo-header.
        [c0, c1] == [0, 0]
            || self
                .sum
                .and_number(len)
                .and_number(len)
                .and(Sum::of_word(u16::from_ne_bytes([c0, c1])))
                .and(Sum::of(payload))
                .is_right()
    }
}

/// The headers' `number`th eight bytes as they lie in memory.
#[inline]
fn word(headers: &[u8; HEADERS], number: usize) -> u64 {
    headers[8 * number..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}
