//! Arbitrary frames of a neighbour on the wire of the network stack.

use bertha_netstack::{Arrival, Checksums, Destination, Flow, Interface, MacAddr, Route, Spread, Stack};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// Returns one of two neighbours.
fn stack(number: u8, now: Instant) -> Stack {
    let subnets = [format!("10.0.0.{number}/24"), format!("fd00::{number}/64")];
    let subnets = subnets.map(|subnet| subnet.parse().unwrap());
    Stack::new(Interface::new(MacAddr([2, 0, 0, 0, 0, number]), 1500, None, &subnets, &[]).unwrap(), now)
}

/// Passes frames to the whole receive path: with checksums that the port did not verify, found right, and
/// found wrong. The bytes are passed as a single frame, and then as several frames, each behind its length in
/// two bytes. A frame whose length is greater than the number of bytes left gets the rest.
pub fn frames(bytes: &[u8]) {
    let now = Instant::now();
    for checksums in [Checksums::Unknown, Checksums::Good, Checksums::Bad] {
        let mut stack = stack(1, now);
        check(&mut stack, bytes, checksums, now);
        let mut rest = bytes;
        while let Some((len, behind)) = rest.split_first_chunk::<2>() {
            let (frame, behind) = behind.split_at(usize::from(u16::from_be_bytes(*len)).min(behind.len()));
            check(&mut stack, frame, checksums, now);
            rest = behind;
        }
    }
}

fn check(stack: &mut Stack, frame: &[u8], checksums: Checksums, now: Instant) {
    if let Destination::Queue(queue) = Spread::new(3, 0).destination(frame) {
        assert!(queue < 3);
    }
    let counters = stack.counters();
    stack.overhear(&mut frame.to_vec(), checksums, now);
    assert_eq!((stack.counters(), stack.has_frames()), (counters, false), "overheard in silence");
    let mut taken = frame.to_vec();
    match stack.receive(&mut taken, checksums, now) {
        Arrival::Datagram { flow, payload } => {
            assert!(payload.start <= payload.end && payload.end <= frame.len());
            assert_eq!(taken, frame, "a datagram is not changed");
            stack.refuse(&taken, now);
            if let Route::Ready(path) = stack.route(flow, now) {
                let mut answer = vec![0; path.len() + payload.len()];
                path.seal(&mut answer);
            }
        }
        Arrival::Segment { packet, .. } => {
            assert!(packet.start <= packet.end && packet.end <= frame.len());
            assert_eq!(taken, frame, "a segment is not changed");
        }
        Arrival::Reply(len) => assert!(len <= frame.len()),
        Arrival::TooBig { flow, mtu } => {
            let peer = flow.peer().ip();
            stack.reduce_path_mtu(peer, mtu, now);
            let most = stack.max_payload(peer);
            assert!(if peer.is_ipv4() { most >= 548 } else { most >= 1232 });
        }
        Arrival::Refused(_) | Arrival::Unreachable(_) | Arrival::Nothing => {
            assert_eq!(frame.len(), taken.len())
        }
    }
    while stack.poll_transmit(|frame| assert!(frame.len() <= 192)).is_some() {}
}

/// Returns frames to the stack of the target, a frame of each kind that its neighbour sends.
///
/// # Panics
/// Panics if the stacks don't find each other.
pub fn good_frames() -> Vec<Vec<u8>> {
    let now = Instant::now();
    let [mut ours, mut theirs] = [1, 2].map(|number| stack(number, now));
    let mut frames = Vec::new();
    theirs.announce();
    for ip in ["10.0.0.1", "fd00::1"] {
        let to = SocketAddr::new(ip.parse::<IpAddr>().unwrap(), 9);
        let flow = Flow::new(to, 4000);
        let _ = theirs.route(flow, now);
        collect(&mut theirs, &mut ours, &mut frames, now);
        collect(&mut ours, &mut theirs, &mut Vec::new(), now);
        let Route::Ready(path) = theirs.route(flow, now) else { panic!("no answer") };
        let mut datagram = vec![7; path.len() + 20];
        path.seal(&mut datagram);
        frames.push(datagram);
    }
    for ip in ["10.0.0.2", "fd00::2"] {
        let to = SocketAddr::new(ip.parse::<IpAddr>().unwrap(), 9);
        let flow = Flow::new(to, 4000);
        let Route::Ready(path) = ours.route(flow, now) else { panic!("it was heard before") };
        let mut datagram = vec![7; path.len() + 20];
        path.seal(&mut datagram);
        theirs.refuse(&datagram, now);
        collect(&mut theirs, &mut ours, &mut frames, now);
    }
    for error in frames.split_off(frames.len() - 2) {
        let v6 = error[12..14] == [0x86, 0xdd];
        let mut large = too_big(&error, v6);
        frames.extend([error, large.clone()]);
        assert!(matches!(ours.receive(&mut large, Checksums::Unknown, now), Arrival::TooBig { .. }));
    }
    frames
}

/// Turns the ICMP error in `frame` into a report that a packet was too large: it gets another type, and the
/// MTU that would have sufficed. The checksum changes by as much (RFC 1624).
fn too_big(frame: &[u8], v6: bool) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let (message, kind) = if v6 { (54, [2, 0]) } else { (34, [3, 4]) };
    let word = |frame: &[u8], at: usize| u32::from(u16::from_be_bytes([frame[at], frame[at + 1]]));
    let before = word(&frame, message) + word(&frame, message + 6);
    frame[message..message + 2].copy_from_slice(&kind);
    frame[message + 6..message + 8].copy_from_slice(&1300_u16.to_be_bytes());
    let after = word(&frame, message) + word(&frame, message + 6);
    let mut sum = (0xffff - word(&frame, message + 2)) + (2 * 0xffff - before) + after;
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    frame[message + 2..message + 4].copy_from_slice(&(!sum as u16).to_be_bytes());
    frame
}

fn collect(from: &mut Stack, to: &mut Stack, frames: &mut Vec<Vec<u8>>, now: Instant) {
    while let Some(frame) = from.poll_transmit(<[u8]>::to_vec) {
        to.receive(&mut frame.clone(), Checksums::Unknown, now);
        frames.push(frame);
    }
}
