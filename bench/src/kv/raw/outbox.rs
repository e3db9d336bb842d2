//! Datagrams that wait to be sent together.

use crate::Error;
use quinn_udp::Transmit;
use std::net::SocketAddr;

/// Largest number of bytes that a single `sendmsg` carries over UDP and IPv4.
const RUN_BYTES: usize = 65_507;

/// Size of a buffer: behind a full run, a datagram is encoded before its length is known.
const BUFFER_BYTES: usize = 2 * 65_536;

/// Number of runs that may be open at once.
const RUNS: usize = 32;

/// Datagrams of equal length to a common address, one behind another: the kernel cuts them apart (GSO).
#[derive(Debug)]
struct Run {
    to: SocketAddr,
    segment: usize,
    filled: usize,
    bytes: Vec<u8>,
}

/// Open runs.
///
/// Replies to reads and to updates differ in length. An open run for each length, instead of sending whenever
/// the length changes, saves a system call at each change.
#[derive(Debug)]
pub(super) struct Outbox {
    /// The runs, of which the first `open` have datagrams. There is always another run, to encode into.
    runs: Vec<Run>,
    open: usize,
    /// Number of the run of the last datagram. The next datagram is likely to join it, so it is encoded
    /// there.
    last: usize,
    max_segments: usize,
}

impl Run {
    fn takes(&self, to: SocketAddr, length: usize, max_segments: usize) -> bool {
        self.to == to
            && self.segment == length
            && self.filled + length <= RUN_BYTES.min(max_segments.saturating_mul(length))
    }
}

impl Outbox {
    /// Creates an outbox whose runs have at most this number of datagrams.
    pub(super) fn new(max_segments: usize) -> Self {
        let mut outbox = Self { runs: Vec::with_capacity(RUNS + 1), open: 0, last: 0, max_segments };
        outbox.add_spare();
        outbox
    }

    /// Returns true if the outbox has to be sent before the next datagram is added.
    pub(super) fn is_full(&self) -> bool {
        self.open == RUNS
    }

    /// Adds the datagram that `encode` writes at the start of its space.
    ///
    /// The outbox must not be [full](Self::is_full).
    pub(super) fn push(
        &mut self,
        to: SocketAddr,
        encode: impl FnOnce(&mut [u8]) -> Result<usize, Error>,
    ) -> Result<(), Error> {
        let drafted_in = self.last;
        let draft = &mut self.runs[drafted_in];
        let length = encode(&mut draft.bytes[draft.filled..])?;
        if drafted_in < self.open && draft.takes(to, length, self.max_segments) {
            draft.filled += length;
            return Ok(());
        }
        let start = draft.filled;
        let goes_to = (0..self.open)
            .find(|&run| self.runs[run].takes(to, length, self.max_segments))
            .unwrap_or_else(|| self.open_run(to, length));
        if let Ok([from, into]) = self.runs.get_disjoint_mut([drafted_in, goes_to]) {
            into.bytes[into.filled..into.filled + length].copy_from_slice(&from.bytes[start..start + length]);
        }
        self.runs[goes_to].filled += length;
        self.last = goes_to;
        Ok(())
    }

    /// Returns the open runs, each to be sent by a single call.
    pub(super) fn transmits(&self) -> impl Iterator<Item = Transmit<'_>> {
        self.runs[..self.open].iter().map(|run| Transmit {
            destination: run.to,
            ecn: None,
            contents: &run.bytes[..run.filled],
            segment_size: Some(run.segment),
            src_ip: None,
        })
    }

    /// Removes all datagrams.
    pub(super) fn clear(&mut self) {
        self.runs[..self.open].iter_mut().for_each(|run| run.filled = 0);
        (self.open, self.last) = (0, 0);
    }

    /// Assigns the spare run to datagrams of this length to this address.
    fn open_run(&mut self, to: SocketAddr, segment: usize) -> usize {
        let opened = self.open;
        let run = &mut self.runs[opened];
        (run.to, run.segment) = (to, segment);
        self.open += 1;
        if self.runs.len() == self.open {
            self.add_spare();
        }
        opened
    }

    fn add_spare(&mut self) {
        let to = super::ANY_PORT;
        let segment = 0;
        let filled = 0;
        self.runs.push(Run { to, segment, filled, bytes: vec![0; BUFFER_BYTES] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn push(outbox: &mut Outbox, port: u16, content: &[u8]) {
        outbox
            .push(address(port), |space| {
                space[..content.len()].copy_from_slice(content);
                Ok(content.len())
            })
            .unwrap();
    }

    fn sent(outbox: &Outbox) -> Vec<(u16, Vec<u8>)> {
        let pieces = |transmit: Transmit<'_>| {
            let segment = transmit.segment_size.unwrap();
            let pieces = transmit.contents.chunks(segment).map(<[u8]>::to_vec).collect::<Vec<_>>();
            pieces.into_iter().map(move |piece| (transmit.destination.port(), piece))
        };
        outbox.transmits().flat_map(pieces).collect()
    }

    #[test]
    fn a_run_ends_at_the_most_segments_and_at_a_datagram() {
        let mut outbox = Outbox::new(2);
        (0..5).for_each(|_| push(&mut outbox, 1, b"xyz"));
        let lengths: Vec<_> = outbox.transmits().map(|transmit| transmit.contents.len()).collect();
        assert_eq!(lengths, [6, 6, 3]);
        let mut outbox = Outbox::new(64);
        (0..5).for_each(|_| push(&mut outbox, 1, &[1; 30_000]));
        assert!(outbox.transmits().all(|transmit| transmit.contents.len() <= RUN_BYTES));
    }

    proptest! {
        #[test]
        fn everything_is_sent_once_and_in_order_within_address_and_length(
            datagrams in proptest::collection::vec((1u16..4, 1usize..4, any::<u8>()), 0..200),
            segments in 1usize..70,
        ) {
            let mut outbox = Outbox::new(segments);
            let (mut expected, mut result) = (Vec::new(), Vec::new());
            for (port, length, content) in datagrams {
                if outbox.is_full() {
                    result.extend(sent(&outbox));
                    outbox.clear();
                }
                push(&mut outbox, port, &vec![content; length]);
                expected.push((port, vec![content; length]));
            }
            result.extend(sent(&outbox));
            // A stable sort keeps the order within an address and length.
            let class = |datagram: &(u16, Vec<u8>)| (datagram.0, datagram.1.len());
            expected.sort_by_key(class);
            result.sort_by_key(class);
            prop_assert_eq!(result, expected);
        }
    }
}
