//! Segments that a stranger may have forged: resets, and segments that open a connection which is open (RFC
//! 5961, sections 3 and 4).
//!
//! A stranger that knows the addresses and ports of a connection meets its window with a few thousand guesses,
//! and the number that the window begins with only with billions. So a reset counts only with exactly this
//! number. A segment with another number is answered with an acknowledgement: a peer that has really forgotten
//! the connection resets it with the number that it is told.

use smoltcp::socket::tcp::State;

/// Length of a header without options.
const HEADER: usize = 20;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const ACK: u8 = 0x10;

/// Longest packet that [`acknowledgement`] makes: both headers over IPv6.
pub(super) const LONGEST: usize = 40 + HEADER;

/// The parts of a segment's headers that tell its place in the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    /// Number of bytes behind the header.
    data: u32,
}

/// The treatment of an arrived segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Take,
    Drop,
    /// The segment is dropped, and its sender told what is expected of the peer.
    Challenge,
}

/// The window of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// The next sequence number that is expected of the peer.
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Head {
    /// Parses the headers of a whole IP packet. Returns `None` if it is no TCP segment.
    pub(super) fn parse(packet: &[u8]) -> Option<Self> {
        let segment = packet.get(start(packet)?..)?;
        let &[_, _, _, _, s0, s1, s2, s3, a0, a1, a2, a3, offset, flags, ..] =
            segment.first_chunk::<HEADER>()?;
        let data = segment.len().checked_sub(usize::from(offset >> 4) * 4)?;
        let [sequence, acknowledged] = [[s0, s1, s2, s3], [a0, a1, a2, a3]].map(u32::from_be_bytes);
        Some(Self { sequence, acknowledged, flags, data: u32::try_from(data).ok()? })
    }

    /// Returns the sequence number of the segment's first byte, or of its flag.
    pub(super) fn sequence(self) -> u32 {
        self.sequence
    }

    /// Returns the number that a segment in the midst of a stream acknowledges.
    pub(super) fn acknowledged(self) -> Option<u32> {
        (self.flags & (ACK | SYN | RST) == ACK).then_some(self.acknowledged)
    }

    /// Returns true if the segment has no byte and no flag but the one of an acknowledgement.
    pub(super) fn is_bare(self) -> bool {
        self.data == 0 && self.flags & (SYN | FIN | RST) == 0
    }

    /// Returns the sequence number behind the segment; `None` for a reset, which has no place in the stream.
    pub(super) fn end(self) -> Option<u32> {
        let has = |flag| u32::from(self.flags & flag != 0);
        let len = self.data.wrapping_add(has(SYN)).wrapping_add(has(FIN));
        (self.flags & RST == 0).then(|| self.sequence.wrapping_add(len))
    }

    /// Returns the treatment of the segment by a connection in this state.
    pub(super) fn judge(self, state: State, window: Window) -> Verdict {
        if matches!(state, State::Closed | State::Listen | State::SynSent) {
            return Verdict::Take;
        }
        let offset = self.sequence.wrapping_sub(window.start);
        // Its first segment again, since the answer was lost.
        let is_repetition = state == State::SynReceived && offset == u32::MAX;
        if self.flags & RST != 0 {
            return match offset {
                0 => Verdict::Take,
                offset if offset < window.len => Verdict::Challenge,
                _ => Verdict::Drop,
            };
        }
        if self.flags & SYN != 0 && !is_repetition { Verdict::Challenge } else { Verdict::Take }
    }
}

/// Returns the offset of the TCP header in a whole IP packet.
pub(super) fn start(packet: &[u8]) -> Option<usize> {
    const TCP: u8 = 6;
    /// Numbers of the extensions that state their length in units of eight bytes: options and routing.
    const EXTENSIONS: [u8; 3] = [0, 43, 60];
    if packet.first()? >> 4 == 4 {
        return Some(usize::from(packet[0] & 0xf) * 4);
    }
    let (mut next, mut at) = (*packet.get(6)?, 40);
    while EXTENSIONS.contains(&next) {
        next = *packet.get(at)?;
        at += (usize::from(*packet.get(at + 1)?) + 1) * 8;
    }
    (next == TCP).then_some(at)
}

/// Writes a packet that could be the peer's, to the front of `bytes`, and returns its length: an
/// acknowledgement without contents. `packet` has the peer's addresses and ports. Checksums are left out.
pub(super) fn acknowledgement(
    bytes: &mut [u8; LONGEST],
    packet: &[u8],
    sequence: u32,
    acknowledged: u32,
) -> Option<usize> {
    let ports = packet.get(start(packet)?..)?.first_chunk::<4>()?;
    let len = match packet.first()? >> 4 {
        4 => {
            let addresses = packet.get(12..20)?;
            bytes[..12].copy_from_slice(&[0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0]);
            bytes[12..20].copy_from_slice(addresses);
            20
        }
        _ => {
            let addresses = packet.get(8..40)?;
            bytes[..8].copy_from_slice(&[0x60, 0, 0, 0, 0, 20, 6, 64]);
            bytes[8..40].copy_from_slice(addresses);
            40
        }
    };
    let header = &mut bytes[len..len + HEADER];
    header.fill(0);
    header[..4].copy_from_slice(ports);
    header[4..8].copy_from_slice(&sequence.to_be_bytes());
    header[8..12].copy_from_slice(&acknowledged.to_be_bytes());
    header[12] = (HEADER as u8 / 4) << 4;
    header[13] = ACK;
    Some(len + HEADER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(flags: u8, sequence: u32) -> Head {
        Head { sequence, acknowledged: 0, flags, data: 0 }
    }

    #[test]
    fn a_reset_counts_with_the_exact_number_alone() {
        let window = Window { start: u32::MAX - 9, len: 1000 };
        for state in [State::SynReceived, State::Established, State::FinWait2, State::LastAck] {
            for (offset, expected) in [
                (0, Verdict::Take),
                (1, Verdict::Challenge),
                (999, Verdict::Challenge),
                (1000, Verdict::Drop),
                (u32::MAX, Verdict::Drop),
            ] {
                let sequence = window.start.wrapping_add(offset);
                assert_eq!(head(RST, sequence).judge(state, window), expected, "{state} {offset}");
                assert_eq!(head(RST | ACK, sequence).judge(state, window), expected, "{state} {offset}");
                assert_eq!(head(ACK, sequence).judge(state, window), Verdict::Take);
            }
        }
        assert_eq!(head(RST | ACK, 7).judge(State::SynSent, window), Verdict::Take);
    }

    #[test]
    fn what_opens_an_open_connection_is_challenged() {
        let window = Window { start: 5, len: 1000 };
        for flags in [SYN, SYN | ACK, SYN | FIN] {
            assert_eq!(head(flags, 5).judge(State::Established, window), Verdict::Challenge);
            for state in [State::Listen, State::SynSent] {
                assert_eq!(head(flags, 5).judge(state, window), Verdict::Take);
            }
        }
    }

    #[test]
    fn a_half_open_connection_takes_its_own_first_segment_alone() {
        let window = Window { start: 5, len: 1000 };
        for (sequence, expected) in [(4, Verdict::Take), (3, Verdict::Challenge), (5, Verdict::Challenge)] {
            assert_eq!(head(SYN, sequence).judge(State::SynReceived, window), expected, "{sequence}");
        }
    }

    #[test]
    fn headers_are_found_behind_options_and_extensions() {
        let segment = [0, 9, 1, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0x50, ACK, 0, 0, 0, 0, 0, 0, 1, 2, 3];
        let v4 = |words: u8| [&[0x40 | words][..], &vec![0; usize::from(words) * 4 - 1], &segment].concat();
        let v6 = |next: u8, extension: &[u8]| {
            [&[0x60, 0, 0, 0, 0, 0, next][..], &[0; 33], extension, &segment].concat()
        };
        let options = [&[60, 1][..], &[0; 14], &[6, 0], &[0; 6]].concat();
        for packet in [v4(5), v4(7), v6(6, &[]), v6(0, &options)] {
            let head = Head::parse(&packet).unwrap();
            assert_eq!(
                (head, head.end()),
                (Head { sequence: 7, acknowledged: 1, flags: ACK, data: 3 }, Some(10))
            );
            for len in 0..packet.len() - 3 {
                assert_eq!(Head::parse(&packet[..len]), None, "{len} bytes");
            }
        }
        assert_eq!(Head::parse(&v6(17, &[])), None);
    }
}
