//! The echo by hand, with the promises of a stack.

use super::{ADDRESS, PORT, Serve, failed};
use crate::Error;
use bertha_datapath_dpdk::{Burst, Config, Port};

/// A port, polled by hand. Frames are verified, their checksums included, and an answer has headers and
/// checksums of its own. The program shows the cost of an echo over UDP without a stack: there are no
/// connections, no neighbours and no runtime, and the answer goes to the sender of the frame.
#[derive(Debug)]
pub(super) struct ByHand(Port);

/// Length of all headers: Ethernet, IPv4 without options, UDP.
pub(super) const HEADERS: usize = 14 + 20 + 8;

/// UDP's number, as in the pseudo-header.
const PROTOCOL: u64 = 17 << 8;

// Headers are handled in words, the first byte lowest, which are read and written once: a driver copies the
// frame before and after, and a processor forwards only whole stores to loads. The last two bytes, UDP's
// checksum, are separate.

const A: [u8; 4] = ADDRESS.octets();
const P: [u8; 2] = PORT.to_be_bytes();

/// A request to this server: EtherType, version and header length; no part of a fragment; protocol; address and port.
const REQUEST: [u64; 5] = words([
    [0; 8],
    [0, 0, 0, 0, 8, 0, 0x45, 0],
    [0, 0, 0, 0, 0, 0, 0, 17],
    [0, 0, 0, 0, 0, 0, A[0], A[1]],
    [A[2], A[3], 0, 0, P[0], P[1], 0, 0],
]);

/// Mask of the compared bits of a request.
const COMPARED: [u64; 5] = words([
    [0; 8],
    [0, 0, 0, 0, 255, 255, 255, 0],
    [0, 0, 0, 0, 0x3f, 255, 0, 255],
    [0, 0, 0, 0, 0, 0, 255, 255],
    [255, 255, 0, 0, 255, 255, 0, 0],
]);

/// An answer: a request with the flag that forbids fragmentation, and with its time to live.
const ANSWER: [u64; 5] = words([
    [0; 8],
    [0, 0, 0, 0, 8, 0, 0x45, 0],
    [0, 0, 0, 0, 0x40, 0, 64, 17],
    [0, 0, A[0], A[1], A[2], A[3], 0, 0],
    [0, 0, P[0], P[1], 0, 0, 0, 0],
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

/// Turns a frame that is a whole datagram to this server into the answer with its payload. Returns the length
/// of the payload, if the frame was such a datagram.
#[inline]
fn answer(frame: &mut [u8]) -> Option<usize> {
    let (headers, rest) = frame.split_first_chunk_mut::<HEADERS>()?;
    let word = |at: usize| headers[8 * at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let request: [u64; 5] = std::array::from_fn(word);
    let checksum = u16::from_le_bytes([headers[40], headers[41]]);
    let differing = (0..5).fold(0, |all, at| all | request[at] & COMPARED[at] ^ REQUEST[at]);
    let total = (request[2] as u16).swap_bytes();
    let len = ((request[4] >> 48) as u16).swap_bytes();
    if differing != 0 || u32::from(total) != u32::from(len) + 20 {
        return None;
    }
    let payload = rest.get(..usize::from(len).checked_sub(8)?)?;
    // Zero says that UDP has no checksum (RFC 768).
    let is_right = folded(ip_sum(&request)) == 0xffff
        && (checksum == 0 || folded(udp_sum(&request, payload) + u128::from(checksum)) == 0xffff);
    if !is_right {
        return None;
    }
    let mut answer = turned_round(&request);
    answer[3] |= u64::from(!folded(ip_sum(&answer)));
    let checksum = match !folded(udp_sum(&answer, payload)) {
        0 => 0xffff,
        checksum => checksum,
    };
    let (front, back) = headers.split_at_mut(40);
    for (place, word) in front.chunks_exact_mut(8).zip(answer) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    back.copy_from_slice(&checksum.to_le_bytes());
    Some(payload.len())
}

/// Returns the headers of an answer, without checksums.
#[inline]
fn turned_round(request: &[u64; 5]) -> [u64; 5] {
    const MAC: u64 = (1 << 48) - 1;
    let (to, from) = (request[0] & MAC, (request[0] >> 48 | request[1] << 16) & MAC);
    let peer = request[3] >> 16 & 0xffff_ffff;
    let port = request[4] >> 16 & 0xffff;
    [
        from | to << 48,
        to >> 16 | ANSWER[1],
        request[2] & 0xffff | ANSWER[2],
        peer << 48 | ANSWER[3],
        peer >> 16 | ANSWER[4] | port << 32 | request[4] >> 48 << 48,
    ]
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

impl Serve for ByHand {
    fn open(config: &Config) -> Result<Self, Error> {
        Port::open(config).map(Self).map_err(failed("opening a port"))
    }

    fn serve(&mut self) -> Result<(), Error> {
        let port = &mut self.0;
        port.enter_thread();
        let mut arrived = Burst::new();
        let mut leaving = Burst::new();
        let mut last = false;
        while !last {
            port.receive(&mut arrived);
            while let Some(mut packet) = arrived.pop() {
                if let Some(len) = answer(packet.bytes_mut()) {
                    last |= len == 1;
                    let pushed = leaving.push(packet);
                    debug_assert!(pushed.is_ok(), "no more leave than have arrived");
                }
            }
            while !leaving.is_empty() {
                port.transmit(&mut leaving);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_netstack::{Arrival, Checksums, Flow, Interface, MacAddr, Path, Route, Stack};
    use std::time::Instant;

    fn stack(number: u8, now: Instant) -> Stack {
        let subnet = format!("10.0.0.{number}/24").parse().unwrap();
        let mac = MacAddr([2, 0, 0, 0, 0, number]);
        Stack::new(Interface::new(mac, 1500, None, &[subnet], &[]).unwrap(), now)
    }

    /// Returns a client, its flow to the server, and its way there.
    fn client() -> (Stack, Flow, Path) {
        let now = Instant::now();
        let (mut server, mut client) = (stack(1, now), stack(2, now));
        let flow = Flow::new((ADDRESS, PORT).into(), 4000);
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
}
