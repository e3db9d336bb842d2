//! Cookies: first segments of strangers that are answered without memory (RFC 4987, section 3.6).
//!
//! While as many peers of a listener as there may be are in the middle of the handshake, this end begins its
//! stream with a number that is computed from the peer's first segment and a secret. The peer acknowledges the
//! number, so the acknowledgement proves that the peer has its address, and tells what the first segment said.

use super::guard::start;
use bertha_netstack::Flow;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{IpAddress, IpProtocol, IpRepr, TcpControl, TcpPacket, TcpRepr, TcpSeqNumber};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Time after which the secret counts as another. A cookie is valid in the period of its making, and in the next.
const PERIOD: Duration = Duration::from_secs(64);

/// Time for which a cookie may be valid.
pub(super) const LIFETIME: Duration = Duration::from_secs(128);

/// Longest first segment that [`Opening::emit`] writes, with its IP header.
pub(super) const LONGEST: usize = 40 + 60;

/// Sizes of segments, in ascending order: a cookie tells the largest that the peer takes.
const SEGMENTS: [u16; 8] = [216, 536, 1220, 1360, 1440, 1460, 4312, 8900];

/// Size of the largest segment that a peer takes which does not tell it (RFC 9293, section 3.7.1).
const UNTOLD: u16 = 536;

/// The window in a repeated first segment. The acknowledgement of the cookie tells the true window.
const WINDOW: u16 = 536;

/// Number in place of the scale of the window, of a peer that does not scale.
const NO_SCALE: u8 = 15;

/// The parts of a first segment that matter for the whole connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Opening {
    /// The number with which the peer's stream begins.
    pub(super) sequence: u32,
    /// Size of the largest segment that the peer takes.
    segment: u16,
    /// The scale of the peer's window, if the peer scales.
    scale: Option<u8>,
    /// True if the peer understands selective acknowledgements.
    selects: bool,
}

impl Opening {
    /// An opening with all options, to which an end answers with all of its own.
    pub(super) const WHOLE: Self = Self { sequence: 0, segment: 1460, scale: Some(0), selects: true };

    /// Parses the first segment of a connection, in a whole IP packet.
    pub(super) fn parse(packet: &[u8], flow: Flow, own: IpAddr) -> Option<Self> {
        let repr = parse(packet, flow.peer().ip(), own)?;
        Some(Self {
            sequence: repr.seq_number.0.cast_unsigned(),
            segment: repr.max_seg_size.unwrap_or(UNTOLD),
            scale: repr.window_scale,
            selects: repr.sack_permitted,
        })
    }

    /// Writes a first segment that says the same to the front of `bytes`, as an IP packet, and returns its length.
    pub(super) fn emit(self, flow: Flow, own: IpAddr, bytes: &mut [u8]) -> usize {
        let Self { sequence, segment, scale, selects } = self;
        let repr = TcpRepr {
            src_port: flow.peer().port(),
            dst_port: flow.local_port(),
            control: TcpControl::Syn,
            seq_number: TcpSeqNumber(sequence.cast_signed()),
            ack_number: None,
            window_len: WINDOW,
            window_scale: scale,
            max_seg_size: Some(segment),
            sack_permitted: selects,
            sack_ranges: [None; 3],
            timestamp: None,
            payload: &[],
        };
        emit(&repr, flow.peer().ip(), own, bytes)
    }

    /// Returns the options in the bits of a byte.
    fn packed(self) -> u8 {
        let fits = |size: &&u16| **size <= self.segment;
        let size = SEGMENTS.iter().filter(fits).count().saturating_sub(1) as u8;
        let scale = self.scale.map_or(NO_SCALE, |scale| scale.min(NO_SCALE - 1));
        size << 5 | scale << 1 | u8::from(self.selects)
    }

    fn unpacked(sequence: u32, packed: u8) -> Self {
        let scale = packed >> 1 & 0xf;
        Self {
            sequence,
            segment: SEGMENTS[usize::from(packed >> 5)],
            scale: (scale != NO_SCALE).then_some(scale),
            selects: packed & 1 == 1,
        }
    }
}

/// The maker of cookies.
pub(super) struct Cookies {
    secret: RandomState,
    start: Instant,
}

impl Cookies {
    pub(super) fn new(now: Instant) -> Self {
        Self { secret: RandomState::new(), start: now }
    }

    /// Returns the number with which this end answers a first segment.
    pub(super) fn make(&self, flow: Flow, opening: Opening, now: Instant) -> u32 {
        self.cookie(flow, opening.sequence, opening.packed(), self.period(now))
    }

    /// Returns what the first segment said, of a peer whose stream begins with `sequence`, and who has got `cookie`
    /// for an answer. Returns `None` if this end has not given this answer lately.
    pub(super) fn open(&self, flow: Flow, sequence: u32, cookie: u32, now: Instant) -> Option<Opening> {
        let packed = cookie as u8;
        let now = self.period(now);
        let is_ours = |period| self.cookie(flow, sequence, packed, period) == cookie;
        [Some(now), now.checked_sub(1)]
            .into_iter()
            .flatten()
            .any(is_ours)
            .then(|| Opening::unpacked(sequence, packed))
    }

    fn period(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.start).as_secs() / PERIOD.as_secs()
    }

    fn cookie(&self, flow: Flow, sequence: u32, packed: u8, period: u64) -> u32 {
        let hash = self.secret.hash_one((flow, sequence, packed, period));
        (hash as u32) << 8 | u32::from(packed)
    }
}

/// The answer of an end to a first segment with all options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    /// The number with which this end's stream begins.
    pub(super) sequence: u32,
    window: u16,
    segment: Option<u16>,
    scale: Option<u8>,
}

impl Answer {
    /// Parses an answer that this end has written, as an IP packet.
    pub(super) fn parse(packet: &[u8], flow: Flow, own: IpAddr) -> Option<Self> {
        let repr = parse(packet, own, flow.peer().ip()).filter(|it| it.control == TcpControl::Syn)?;
        Some(Self {
            sequence: repr.seq_number.0.cast_unsigned(),
            window: repr.window_len,
            segment: repr.max_seg_size,
            scale: repr.window_scale,
        })
    }

    /// Writes the answer to `opening` that begins with `cookie` to the front of `bytes`, as an IP packet, and returns
    /// its length.
    pub(super) fn emit(
        self,
        flow: Flow,
        own: IpAddr,
        opening: Opening,
        cookie: u32,
        bytes: &mut [u8],
    ) -> usize {
        let repr = TcpRepr {
            src_port: flow.local_port(),
            dst_port: flow.peer().port(),
            control: TcpControl::Syn,
            seq_number: TcpSeqNumber(cookie.cast_signed()),
            ack_number: Some(TcpSeqNumber(opening.sequence.wrapping_add(1).cast_signed())),
            window_len: self.window,
            window_scale: self.scale.filter(|_| opening.scale.is_some()),
            max_seg_size: self.segment,
            sack_permitted: opening.selects,
            sack_ranges: [None; 3],
            timestamp: None,
            payload: &[],
        };
        emit(&repr, own, flow.peer().ip(), bytes)
    }
}

/// Parses the segment in a whole IP packet, whose checksum was verified.
fn parse(packet: &[u8], source: IpAddr, destination: IpAddr) -> Option<TcpRepr<'_>> {
    let segment = TcpPacket::new_checked(packet.get(start(packet)?..)?).ok()?;
    let [source, destination] = [source, destination].map(IpAddress::from);
    TcpRepr::parse(&segment, &source, &destination, &ChecksumCapabilities::ignored()).ok()
}

fn emit(repr: &TcpRepr<'_>, source: IpAddr, destination: IpAddr, bytes: &mut [u8]) -> usize {
    const HOPS: u8 = 64;
    let [source, destination] = [source, destination].map(IpAddress::from);
    let sums = ChecksumCapabilities::default();
    let ip = IpRepr::new(source, destination, IpProtocol::Tcp, repr.buffer_len(), HOPS);
    let whole = ip.buffer_len();
    let bytes = &mut bytes[..whole];
    ip.emit(&mut *bytes, &sums);
    let mut segment = TcpPacket::new_unchecked(&mut bytes[ip.header_len()..]);
    repr.emit(&mut segment, &source, &destination, &sums);
    whole
}

/// A difference between the numbers of this end's stream on the wire and in smoltcp, which begins its stream with
/// a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Shift(u32);

impl Shift {
    /// Returns the difference of two numbers.
    pub(super) fn between(inside: u32, outside: u32) -> Self {
        Self(outside.wrapping_sub(inside))
    }

    /// Turns the IP packet of a segment that smoltcp has written into the packet for the wire.
    #[inline]
    pub(super) fn leave(self, packet: &mut [u8]) {
        const SEQUENCE: usize = 4;
        if self.0 != 0 {
            add(packet, SEQUENCE, self.0);
        }
    }

    /// Turns the IP packet of a segment from the wire into the packet for smoltcp.
    #[inline]
    pub(super) fn enter(self, packet: &mut [u8]) {
        const ACKNOWLEDGED: usize = 8;
        if self.0 != 0 {
            add(packet, ACKNOWLEDGED, self.0.wrapping_neg());
        }
    }
}

/// Adds to a number of 32 bits in a TCP header, and adjusts the checksum (RFC 1624).
fn add(packet: &mut [u8], at: usize, number: u32) {
    const CHECKSUM: usize = 16;
    let Some(start) = start(packet) else { return };
    let Some(header) = packet.get_mut(start..).and_then(<[u8]>::first_chunk_mut::<20>) else { return };
    let before = u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let after = before.wrapping_add(number);
    header[at..at + 4].copy_from_slice(&after.to_be_bytes());
    let checksum = u16::from_be_bytes([header[CHECKSUM], header[CHECKSUM + 1]]);
    let words = |number: u32| [number >> 16, number & 0xffff];
    let mut sum = u32::from(!checksum);
    for (before, after) in words(!before).into_iter().zip(words(after)) {
        sum += before + after;
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    header[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

    fn flow(port: u16) -> Flow {
        Flow::new(([10, 0, 0, 2], port).into(), 9)
    }

    #[test]
    fn a_cookie_tells_what_the_first_segment_said() {
        let now = Instant::now();
        let cookies = Cookies::new(now);
        for segment in SEGMENTS {
            for (scale, selects) in [(None, false), (Some(0), true), (Some(7), false), (Some(14), true)] {
                let opening = Opening { sequence: 77, segment, scale, selects };
                let cookie = cookies.make(flow(1), opening, now);
                assert_eq!(cookies.open(flow(1), 77, cookie, now), Some(opening));
            }
        }
        // Other sizes are told as the next smaller size.
        let opening = Opening { sequence: 77, segment: 1459, scale: None, selects: false };
        let cookie = cookies.make(flow(1), opening, now);
        assert_eq!(cookies.open(flow(1), 77, cookie, now), Some(Opening { segment: 1440, ..opening }));
    }

    #[test]
    fn a_cookie_is_of_one_peer_and_of_two_minutes() {
        let now = Instant::now();
        let cookies = Cookies::new(now);
        let cookie = cookies.make(flow(1), Opening::WHOLE, now);
        let is_taken = |port, sequence, cookie, seconds| {
            cookies.open(flow(port), sequence, cookie, now + Duration::from_secs(seconds)).is_some()
        };
        assert!(is_taken(1, 0, cookie, 127) && !is_taken(1, 0, cookie, 128));
        assert!(!is_taken(2, 0, cookie, 0) && !is_taken(1, 1, cookie, 0));
        assert!((0..32).all(|bit| !is_taken(1, 0, cookie ^ 1 << bit, 0)));
        let other = Cookies::new(now);
        assert_ne!(other.make(flow(1), Opening::WHOLE, now), cookie);
    }

    #[test]
    fn numbers_are_shifted_there_and_back_and_the_checksum_stays_valid() {
        let mut packet = [0; LONGEST];
        let opening = Opening { sequence: 5, ..Opening::WHOLE };
        let len = opening.emit(flow(1), OWN, &mut packet);
        let packet = &mut packet[..len];
        assert_eq!(Opening::parse(packet, flow(1), OWN), Some(opening));
        let [peer, own] = [flow(1).peer().ip(), OWN].map(IpAddress::from);
        for (inside, outside) in [(0, 1), (1, 0), (5, 0xffff_fffe), (0x1234_5678, 0x8765_4321)] {
            let shift = Shift::between(inside, outside);
            let before = packet.to_vec();
            shift.leave(packet);
            let segment = TcpPacket::new_checked(&packet[20..]).unwrap();
            assert!(segment.verify_checksum(&peer, &own));
            assert_eq!(
                segment.seq_number().0.cast_unsigned(),
                5_u32.wrapping_add(outside).wrapping_sub(inside)
            );
            Shift::between(outside, inside).leave(packet);
            assert_eq!(packet[..], before);
            shift.enter(packet);
            assert!(TcpPacket::new_checked(&packet[20..]).unwrap().verify_checksum(&peer, &own));
            Shift::between(outside, inside).enter(packet);
            assert_eq!(packet[..], before);
        }
    }
}
