//! The headers in front of a flow's datagrams.

use super::{Flow, LinkHeader};
use crate::wire::checksum::Sum;
use crate::wire::ipv4::{self, Ipv4Header};
use crate::wire::ipv6::{self, Ipv6Header};
use crate::wire::{IpProtocol, ecn, ethernet, udp};
use std::net::IpAddr;
use std::time::Instant;

/// Largest number of bytes of headers in front of a datagram: Ethernet with a tag, IPv6 and UDP.
pub const HEADERS: usize = ethernet::HEADER + ethernet::TAG + ipv6::HEADER + udp::HEADER;

/// Length of the most frequent headers: Ethernet without a tag, IPv4 and UDP.
const USUAL: usize = ethernet::HEADER + ipv4::HEADER + udp::HEADER;

/// The checksums that a port computes for datagrams that it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// True for the checksum of the IPv4 header, whose field is zero.
    pub header: bool,
    /// True for the checksum of UDP, whose field has the sum of the pseudo-header, not complemented.
    pub udp: bool,
}

/// The description of a frame for a port that computes its checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offloaded {
    /// The checksums to compute, at least one of the two.
    pub offload: Offload,
    /// True if the packet is an IPv4 packet.
    pub is_v4: bool,
    /// Length of the headers in front of IP, in bytes.
    pub link: usize,
    /// Length of the IP header, in bytes.
    pub ip: usize,
}

/// The headers of a flow's datagrams, except for lengths and checksums. The value is valid as long as
/// [`Stack::is_current`](crate::Stack::is_current) returns true.
#[derive(Debug, Clone)]
pub struct Path {
    headers: [u8; HEADERS],
    len: usize,
    /// Offset of the IP header.
    ip: usize,
    is_v4: bool,
    /// The sums of the IPv4 header, and of UDP's header with its pseudo-header, without lengths.
    ip_sum: Sum,
    udp_sum: Sum,
    /// The sum of the pseudo-header by itself.
    pseudo_sum: Sum,
    offload: Offload,
    /// True if the datagrams have no UDP checksum.
    unchecked: bool,
    /// True if the headers are the most frequent headers, with checksums in software.
    usual: bool,
    pub(crate) generation: u32,
    pub(crate) until: Instant,
}

impl Path {
    pub(crate) fn new(flow: Flow, own: IpAddr, link: &LinkHeader, offload: Offload, unchecked: bool) -> Self {
        let mut headers = [0; HEADERS];
        let ip = link.bytes().len();
        headers[..ip].copy_from_slice(link.bytes());
        let (at, pseudo) = match (own, flow.peer().ip()) {
            (IpAddr::V4(own), IpAddr::V4(peer)) => {
                let header = Ipv4Header::new(own, peer, IpProtocol::UDP, 0);
                header.emit(&mut headers[ip..]);
                headers[ip + 2..ip + 4].fill(0);
                headers[ip + 10..ip + 12].fill(0);
                (ip + ipv4::HEADER, header.pseudo_header())
            }
            (IpAddr::V6(own), IpAddr::V6(peer)) => {
                let header = Ipv6Header::new(own, peer, IpProtocol::UDP, 0);
                header.emit(&mut headers[ip..]);
                (ip + ipv6::HEADER, header.pseudo_header())
            }
            // The caller passed the interface's address of the peer's family.
            _ => (ip, Sum::default()),
        };
        headers[at..at + 2].copy_from_slice(&flow.local_port().to_be_bytes());
        headers[at + 2..at + 4].copy_from_slice(&flow.peer().port().to_be_bytes());
        let len = at + udp::HEADER;
        let ip_sum = Sum::of(&headers[ip..at]);
        let udp_sum = pseudo.and(Sum::of(&headers[at..len]));
        let is_v4 = own.is_ipv4();
        let generation = link.generation;
        let until = link.until;
        // Over IPv6 the checksum is mandatory (RFC 8200, section 8.1).
        let unchecked = unchecked && is_v4;
        let offload = Offload { header: offload.header && is_v4, udp: offload.udp && !unchecked };
        let usual = is_v4 && len == USUAL && !unchecked && !offload.header && !offload.udp;
        Self {
            headers,
            len,
            ip,
            is_v4,
            ip_sum,
            udp_sum,
            pseudo_sum: pseudo,
            offload,
            unchecked,
            usual,
            generation,
            until,
        }
    }

    /// Returns these headers for datagrams that routers may mark for congestion (RFC 3168).
    #[must_use]
    pub fn markable(mut self) -> Self {
        let end = self.len - udp::HEADER;
        ecn::allow(&mut self.headers[self.ip..end], self.is_v4);
        self.ip_sum = Sum::of(&self.headers[self.ip..end]);
        self
    }

    /// Returns the length of the headers in bytes. The length is even, so that the payload's checksum can be
    /// computed by itself.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "headers are never empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the description of each [sealed](Self::seal) frame for the port; `None` if the port computes
    /// no checksum.
    #[inline]
    pub fn offloaded(&self) -> Option<Offloaded> {
        let Self { offload, is_v4, ip: link, .. } = *self;
        if self.usual || !(offload.header || offload.udp) {
            return None;
        }
        let ip = self.len - udp::HEADER - link;
        Some(Offloaded { offload, is_v4, link, ip })
    }

    /// Writes the headers to the first [`len`](Self::len) bytes of `frame`, in front of the payload. The
    /// frame is at most as long as the interface allows.
    ///
    /// # Panics
    /// Panics if the frame is shorter than the headers.
    // Inlining is forced, since the function is called in loops: a call would save and restore registers for
    // each message.
    #[inline(always)]
    pub fn seal(&self, frame: &mut [u8]) {
        match frame.split_first_chunk_mut() {
            Some((headers, payload)) if self.usual => self.seal_usual(headers, payload),
            _ => self.seal_any(frame),
        }
    }

    /// Writes whole words, each word once: the driver reads the frame at once, and a load that overlaps
    /// several stores has to wait for all of them.
    #[inline]
    fn seal_usual(&self, headers: &mut [u8; USUAL], payload: &[u8]) {
        let datagram = (udp::HEADER + payload.len()) as u16;
        let total = ipv4::HEADER as u16 + datagram;
        let [t0, t1] = total.to_be_bytes();
        let [i0, i1] = self.ip_sum.and_number(total).checksum();
        let [l0, l1] = datagram.to_be_bytes();
        let template = |at: usize| self.headers[at..].first_chunk().map_or(0, |it| u64::from_ne_bytes(*it));
        // Fields that differ from message to message are zero in the template.
        let words = [
            template(0),
            template(8),
            template(16) | u64::from_ne_bytes([t0, t1, 0, 0, 0, 0, 0, 0]),
            template(24) | u64::from_ne_bytes([i0, i1, 0, 0, 0, 0, 0, 0]),
            template(32) | u64::from_ne_bytes([0, 0, 0, 0, 0, 0, l0, l1]),
        ];
        let (front, back) = headers.split_at_mut(40);
        for (place, word) in front.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        back.copy_from_slice(&self.computed_checksum(datagram, payload));
    }

    #[inline(never)]
    fn seal_any(&self, frame: &mut [u8]) {
        let (headers, payload) = frame.split_at_mut(self.len);
        headers.copy_from_slice(&self.headers[..self.len]);
        let datagram = (udp::HEADER + payload.len()) as u16;
        let ip = &mut headers[self.ip..];
        let at = if self.is_v4 {
            let total = ipv4::HEADER as u16 + datagram;
            ip[2..4].copy_from_slice(&total.to_be_bytes());
            ip[10..12].copy_from_slice(&self.header_checksum(total));
            ipv4::HEADER
        } else {
            ip[4..6].copy_from_slice(&datagram.to_be_bytes());
            ipv6::HEADER
        };
        ip[at + 4..at + 6].copy_from_slice(&datagram.to_be_bytes());
        ip[at + 6..at + 8].copy_from_slice(&self.payload_checksum(datagram, payload));
    }

    /// Returns the checksum of the IPv4 header of a packet of `total` bytes.
    fn header_checksum(&self, total: u16) -> [u8; 2] {
        if self.offload.header { [0, 0] } else { self.ip_sum.and_number(total).checksum() }
    }

    /// Returns the checksum of UDP for a datagram of `datagram` bytes.
    fn payload_checksum(&self, datagram: u16, payload: &[u8]) -> [u8; 2] {
        if self.unchecked {
            return [0, 0];
        }
        if self.offload.udp {
            return self.pseudo_sum.and_number(datagram).folded().to_ne_bytes();
        }
        self.computed_checksum(datagram, payload)
    }

    #[inline]
    fn computed_checksum(&self, datagram: u16, payload: &[u8]) -> [u8; 2] {
        // The length counts twice: in the header, and in the pseudo-header.
        let sum = self.udp_sum.and_number(datagram).and_number(datagram).and(Sum::of(payload));
        // Zero stands for no checksum (RFC 768).
        match !sum.folded() {
            0 => [0xff, 0xff],
            checksum => checksum.to_ne_bytes(),
        }
    }
}
