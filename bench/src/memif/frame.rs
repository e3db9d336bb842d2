//! Datagrams of UDP over IPv4 by hand: a frame is verified, its checksums included, and has headers and checksums of
//! its own. There are no connections, no neighbours and no fragments.

use std::net::Ipv4Addr;

/// Length of all headers: Ethernet, IPv4 without options, UDP.
pub(crate) const HEADERS: usize = 14 + 20 + 8;

/// UDP's number, as in the pseudo-header.
const PROTOCOL: u64 = 17 << 8;

/// Headers in words, the first byte lowest, which are read and written once: a driver copies the frame before and after, and a
/// processor forwards only whole stores to loads. The last two bytes, UDP's checksum, are separate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Headers([u64; 5]);

/// An end of datagrams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// A datagram to this end: EtherType, version and header length; no part of a fragment; protocol; address and port.
    arriving: [u64; 5],
    /// A datagram from this end: with the flag that forbids fragmentation, and with its time to live.
    leaving: [u64; 5],
}

/// Mask of the compared bits of a datagram that arrives.
const COMPARED: [u64; 5] = words([
    [0; 8],
    [0, 0, 0, 0, 255, 255, 255, 0],
    [0, 0, 0, 0, 0x3f, 255, 0, 255],
    [0, 0, 0, 0, 0, 0, 255, 255],
    [255, 255, 0, 0, 255, 255, 0, 0],
]);

const fn words(bytes: [[u8; 8]; 5]) -> [u64; 5] {
    let [a, b, c, d, e] = bytes;
    [
        u64::from_le_bytes(a),
        u64::from_le_bytes(b),
        u64::from_le_bytes(c),
        u64::from_le_bytes(d),
        u64::from_le_bytes(e),
    ]
}

/// A datagram that has arrived.
#[derive(Debug)]
pub(crate) struct Arrived<'a> {
    /// Its headers.
    pub(crate) request: Headers,
    /// The place of its headers.
    headers: &'a mut [u8; HEADERS],
    /// Its payload.
    pub(crate) payload: &'a mut [u8],
}

impl End {
    pub(crate) const fn new(address: Ipv4Addr, port: u16) -> Self {
        let (a, p) = (address.octets(), port.to_be_bytes());
        Self {
            arriving: words([
                [0; 8],
                [0, 0, 0, 0, 8, 0, 0x45, 0],
                [0, 0, 0, 0, 0, 0, 0, 17],
                [0, 0, 0, 0, 0, 0, a[0], a[1]],
                [a[2], a[3], 0, 0, p[0], p[1], 0, 0],
            ]),
            leaving: words([
                [0; 8],
                [0, 0, 0, 0, 8, 0, 0x45, 0],
                [0, 0, 0, 0, 0x40, 0, 64, 17],
                [0, 0, a[0], a[1], a[2], a[3], 0, 0],
                [0, 0, p[0], p[1], 0, 0, 0, 0],
            ]),
        }
    }

    /// Returns the datagram in a frame, if the frame is a whole datagram to this end.
    #[inline]
    pub(crate) fn open<'a>(&self, frame: &'a mut [u8]) -> Option<Arrived<'a>> {
        let (headers, rest) = frame.split_first_chunk_mut::<HEADERS>()?;
        let word = |at: usize| headers[8 * at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let request: [u64; 5] = std::array::from_fn(word);
        let checksum = u16::from_le_bytes([headers[40], headers[41]]);
        let differing = (0..5).fold(0, |all, at| all | request[at] & COMPARED[at] ^ self.arriving[at]);
        let total = (request[2] as u16).swap_bytes();
        let len = ((request[4] >> 48) as u16).swap_bytes();
        if differing != 0 || u32::from(total) != u32::from(len) + 20 {
            return None;
        }
        let payload = rest.get_mut(..usize::from(len).checked_sub(8)?)?;
        // Zero says that UDP has no checksum (RFC 768).
        let is_right = folded(ip_sum(&request)) == 0xffff
            && (checksum == 0 || folded(udp_sum(&request, payload) + u128::from(checksum)) == 0xffff);
        is_right.then_some(Arrived { request: Headers(request), headers, payload })
    }

    /// Returns the headers, without checksums, of an answer of this end that is as long as the request.
    #[inline]
    pub(crate) fn answer(&self, Headers(request): &Headers) -> Headers {
        const MAC: u64 = (1 << 48) - 1;
        let (to, from) = (request[0] & MAC, (request[0] >> 48 | request[1] << 16) & MAC);
        let peer = request[3] >> 16 & 0xffff_ffff;
        let port = request[4] >> 16 & 0xffff;
        Headers([
            from | to << 48,
            to >> 16 | self.leaving[1],
            request[2] & 0xffff | self.leaving[2],
            peer << 48 | self.leaving[3],
            peer >> 16 | self.leaving[4] | port << 32 | request[4] >> 48 << 48,
        ])
    }

    /// Returns the headers of an empty datagram from this end to another. Hardware addresses are zero: ports that share memory
    /// take each frame.
    pub(crate) fn to(&self, other: &Self) -> Headers {
        Headers([
            0,
            self.leaving[1],
            self.leaving[2],
            self.leaving[3] | other.arriving[3],
            self.leaving[4] | other.arriving[4],
        ])
    }
}

impl Headers {
    /// Returns these headers for a payload of this length.
    #[inline]
    pub(crate) fn sized(self, payload: usize) -> Self {
        const LENGTH: u64 = 0xffff;
        // A frame is shorter than 64 KiB.
        let of = |headers: usize| u64::from(((headers + payload) as u16).swap_bytes());
        let Self([a, b, c, d, e]) = self;
        Self([a, b, c & !LENGTH | of(20 + 8), d, e & !(LENGTH << 48) | of(8) << 48])
    }

    /// Writes these headers, which are sized for the payload, in front of it.
    #[inline]
    pub(crate) fn seal(self, headers: &mut [u8; HEADERS], payload: &[u8]) {
        let Self(mut words) = self;
        words[3] |= u64::from(!folded(ip_sum(&words)));
        let checksum = match !folded(udp_sum(&words, payload)) {
            0 => 0xffff,
            checksum => checksum,
        };
        let (front, back) = headers.split_at_mut(40);
        for (place, word) in front.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        back.copy_from_slice(&checksum.to_le_bytes());
    }
}

impl Arrived<'_> {
    /// Turns the frame into the answer of an end, with the payload of the request.
    #[inline]
    pub(crate) fn return_by(self, end: &End) {
        end.answer(&self.request).seal(self.headers, self.payload);
    }
}

/// Returns the sum of IPv4's header.
#[inline]
fn ip_sum(headers: &[u64; 5]) -> u128 {
    [headers[1] >> 48, headers[2], headers[3], headers[4] & 0xffff].into_iter().map(u128::from).sum()
}

/// Returns the sum of the pseudo-header, UDP's header without its checksum, and the payload.
#[inline]
fn udp_sum(headers: &[u64; 5], payload: &[u8]) -> u128 {
    sum(payload)
        + [headers[3] >> 16, headers[4], PROTOCOL, headers[4] >> 48].map(u128::from).iter().sum::<u128>()
}

/// Returns the sum of bytes, with the carries of four consecutive words left to the processor.
#[inline]
fn sum(bytes: &[u8]) -> u128 {
    let (words, rest) = bytes.as_chunks();
    let (blocks, words) = words.as_chunks::<4>();
    let mut sum = 0_u64;
    let mut carries = 0;
    for block in blocks {
        let mut carry = false;
        for word in block {
            (sum, carry) = sum.carrying_add(u64::from_le_bytes(*word), carry);
        }
        carries += u128::from(carry);
    }
    let mut sum = carries << 64 | u128::from(sum);
    for word in words {
        sum += u128::from(u64::from_le_bytes(*word));
    }
    if rest.is_empty() {
        sum
    } else {
        sum + rest.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte))
    }
}

/// Folds a sum of longer words to a sum of 16-bit words (RFC 1071).
#[inline]
fn folded(sum: u128) -> u16 {
    let sum = (sum >> 64) as u64 + (sum as u64 >> 32) + (sum as u64 & 0xffff_ffff);
    // A sum that carries leaves space for the carry.
    let (sum, carry) = (sum as u32).overflowing_add((sum >> 32) as u32);
    let (sum, carry) = (sum as u16).overflowing_add((sum >> 16) as u16 + u16::from(carry));
    sum + u16::from(carry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_netstack::{Arrival, Checksums, Flow, Interface, MacAddr, Path, Route, Stack};
    use std::time::Instant;

    const SERVER: End = End::new(Ipv4Addr::new(10, 0, 0, 1), 9);
    const CLIENT: End = End::new(Ipv4Addr::new(10, 0, 0, 2), 4000);

    /// Answers as an echo, and returns the length of the payload.
    fn answer(frame: &mut [u8]) -> Option<usize> {
        let arrived = SERVER.open(frame)?;
        let len = arrived.payload.len();
        arrived.return_by(&SERVER);
        Some(len)
    }

    fn stack(number: u8, now: Instant) -> Stack {
        let subnet = format!("10.0.0.{number}/24").parse().unwrap();
        let mac = MacAddr([2, 0, 0, 0, 0, number]);
        Stack::new(Interface::new(mac, 1500, None, &[subnet], &[]).unwrap(), now)
    }

    /// Returns a client, its flow to the server, and its way there.
    fn client() -> (Stack, Flow, Path) {
        let now = Instant::now();
        let (mut server, mut client) = (stack(1, now), stack(2, now));
        let flow = Flow::new((Ipv4Addr::new(10, 0, 0, 1), 9).into(), 4000);
        let _ = client.route(flow, now);
        let mut question = client.poll_transmit(<[u8]>::to_vec).unwrap();
        server.receive(&mut question, Checksums::Unknown, now);
        let mut answer = server.poll_transmit(<[u8]>::to_vec).unwrap();
        client.receive(&mut answer, Checksums::Unknown, now);
        let Route::Ready(path) = client.route(flow, now) else { panic!("no way") };
        (client, flow, path)
    }

    fn request(path: &Path, len: usize) -> Vec<u8> {
        let mut frame = vec![0; path.len()];
        frame.extend((0..len).map(|at| (at * 37 + len) as u8));
        path.seal(&mut frame);
        frame
    }

    #[test]
    fn a_stack_takes_the_answer() {
        let (mut client, flow, path) = client();
        for len in [0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 1471, 1472] {
            let request = request(&path, len);
            let mut frame = request.clone();
            assert_eq!(answer(&mut frame), Some(len));
            let arrival = client.receive(&mut frame, Checksums::Unknown, Instant::now());
            assert_eq!(arrival, Arrival::Datagram { flow, payload: HEADERS..HEADERS + len }, "{len} bytes");
            assert_eq!(frame[HEADERS..], request[HEADERS..]);
            assert_ne!(frame[40..HEADERS], [0, 0], "no checksum");
        }
    }

    #[test]
    fn a_damaged_frame_has_no_answer() {
        let (_, _, path) = client();
        let request = request(&path, 67);
        // Hardware addresses are not covered by a checksum of this server.
        for bit in 8 * 12..8 * request.len() {
            let mut frame = request.clone();
            frame[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(answer(&mut frame), None, "bit {bit}");
        }
        for len in 0..request.len() {
            assert_eq!(answer(&mut request[..len].to_vec()), None, "{len} bytes");
        }
    }

    #[test]
    fn a_datagram_arrives_at_its_end_alone_and_is_answered_at_any_length() {
        let datagram = |headers: Headers, payload: &[u8]| {
            let mut frame = vec![0xa5; HEADERS];
            frame.extend(payload);
            let (place, payload) = frame.split_first_chunk_mut().unwrap();
            headers.sized(payload.len()).seal(place, payload);
            frame
        };
        for (question, answer) in [(&b"a question"[..], &b"no"[..]), (b"", b"a longer answer"), (b"q", b"")] {
            let mut frame = datagram(CLIENT.to(&SERVER), question);
            assert!(CLIENT.open(&mut frame).is_none());
            let arrived = SERVER.open(&mut frame).unwrap();
            assert_eq!(arrived.payload, question);
            let mut frame = datagram(SERVER.answer(&arrived.request), answer);
            assert!(SERVER.open(&mut frame).is_none());
            assert_eq!(CLIENT.open(&mut frame).unwrap().payload, answer);
        }
    }
}
