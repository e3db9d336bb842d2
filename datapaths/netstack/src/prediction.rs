//! What the headers of a flow's next datagram are going to be.

use crate::checksum::{Sum, add};
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
    /// The words at [`WORDS`], where their bits are predicted.
    words: [u64; 4],
    /// The sum of UDP's pseudo-header without the length, and of the ports.
    sum: Sum,
    /// UDP's checksum counts as right.
    unchecked: bool,
}

/// Where words are compared, and which of their bits. Between them they cover the destination; EtherType, version and header
/// length; protocol and source; addressee and ports.
const WORDS: [(usize, [u8; 8]); 4] = [
    (0, [255, 255, 255, 255, 255, 255, 0, 0]),
    (8, [0, 0, 0, 0, 255, 255, 255, 0]),
    (22, [0, 255, 0, 0, 255, 255, 255, 255]),
    (30, [255; 8]),
];

/// Of the word in front of the time to live, what a fragment sets: more fragments, or an offset.
const FRAGMENT: [u8; 8] = [0, 0, 0, 0, 0, 0, 0x3f, 0xff];

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
        let pseudo = ipv4::pseudo_header(peer, own, ipv4::protocol::UDP);
        let sum = pseudo.and(Sum::of(&headers[ports..ports + 4]));
        Some(Self {
            words: WORDS.map(|(at, bits)| word(&headers, at) & u64::from_ne_bytes(bits)),
            sum,
            unchecked,
        })
    }

    /// Where in `frame` the payload lies, if it is a datagram of this flow that arrived whole. What of its checksums the port has
    /// not said to be right is looked at.
    #[inline]
    pub fn payload(&self, frame: &[u8], checksums: Checksums) -> Option<Range<usize>> {
        let headers = frame.first_chunk::<HEADERS>()?;
        let differs = |(number, (at, bits)): (usize, (usize, [u8; 8]))| {
            (word(headers, at) ^ self.words[number]) & u64::from_ne_bytes(bits)
        };
        let differing = WORDS.into_iter().enumerate().map(differs).fold(0, |all, one| all | one);
        let lengths = word(headers, 14);
        if differing | lengths & u64::from_ne_bytes(FRAGMENT) != 0 {
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
        let right = checksums != Checksums::Bad
            && (checksums.header() || header_is_right(headers))
            && (self.unchecked || checksums.payload() || self.payload_is_right(headers, len, bytes));
        right.then_some(payload)
    }

    #[inline]
    fn payload_is_right(&self, headers: &[u8; HEADERS], len: u16, payload: &[u8]) -> bool {
        let [.., c0, c1] = *headers;
        // Zero says that there is none (RFC 768). The length counts twice: in the header, and in the pseudo-header.
        [c0, c1] == [0, 0]
            || self
                .sum
                .and_number(len)
                .and_number(len)
                .and(Sum::of(&[c0, c1]))
                .and(Sum::of(payload))
                .is_right()
    }
}

#[inline]
fn header_is_right(headers: &[u8; HEADERS]) -> bool {
    let [front, back] = [14, 22].map(|at| word(headers, at));
    let addressee = Sum::of(&headers[30..34]);
    Sum::of_words(add((front, 0), back)).and(addressee).is_right()
}

/// Eight bytes as they lie in memory.
#[inline]
fn word(headers: &[u8; HEADERS], at: usize) -> u64 {
    headers[at..].first_chunk().map_or(0, |bytes| u64::from_ne_bytes(*bytes))
}
