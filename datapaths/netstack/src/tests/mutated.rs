//! Frames that were damaged on purpose.

use super::crafted;
use super::judge::segment;
use super::{address, stack, too_big, transmits};
use crate::{Arrival, Checksums, Destination, Flow, Route, Spread, Stack};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use smoltcp::wire::TcpControl;
use std::time::{Duration, Instant};

/// Number of frames, each made of a good frame.
const FRAMES: u64 = 1_000_000;

/// Returns a frame of each kind that the two stacks exchange.
fn good_frames(now: Instant) -> Vec<Vec<u8>> {
    let mut stacks = [stack(0, None, now), stack(1, None, now)];
    let (mut frames, mut errors) = (Vec::new(), Vec::new());
    let [ours, theirs] = &mut stacks;
    let mut collect = |from: &mut Stack, to: &mut Stack| {
        for mut frame in transmits(from) {
            frames.push(frame.clone());
            to.receive(&mut frame, Checksums::Unknown, now);
        }
    };
    theirs.announce();
    collect(theirs, ours);
    for v6 in [false, true] {
        let flow = Flow::new(address(0, v6, 9), 4000);
        let _ = theirs.route(flow, now);
        collect(theirs, ours);
        collect(ours, theirs);
        let Route::Ready(path) = theirs.route(flow, now) else { panic!("no answer") };
        let mut datagram = vec![7; path.len() + 64];
        path.seal(&mut datagram);
        ours.refuse(&datagram, now);
        collect(ours, theirs);
        collect(theirs, ours);
        // The frame is an error to the first stack about a datagram of its own.
        let flow = Flow::new(address(1, v6, 9), 4000);
        let _ = ours.route(flow, now);
        collect(ours, theirs);
        collect(theirs, ours);
        let Route::Ready(path) = ours.route(flow, now) else { panic!("no answer") };
        let mut refused = vec![7; path.len() + 64];
        path.seal(&mut refused);
        theirs.refuse(&refused, now);
        let refusals = transmits(theirs);
        errors.extend(refusals.iter().map(|refusal| too_big(refusal, 1300)));
        errors.extend(refusals);
    }
    for v6 in [false, true] {
        let flow = Flow::new(address(0, v6, 9), 4000);
        let Route::Ready(path) = theirs.route(flow, now) else { panic!("no answer") };
        let mut datagram = vec![7; path.len() + 64];
        path.seal(&mut datagram);
        let mut tagged = datagram.clone();
        tagged.splice(12..12, [0x81, 0, 0, 0]);
        let segments = [(TcpControl::Syn, false), (TcpControl::None, true)]
            .map(|(control, ack)| segment(v6, [4000, 9], control, ack, b"some bytes"));
        frames.extend([datagram, tagged]);
        frames.extend(segments);
    }
    frames.extend(errors);
    frames.extend(rare_frames());
    frames
}

/// Returns frames with extension headers, unknown protocols, other errors, and questions of routers.
fn rare_frames() -> Vec<Vec<u8>> {
    let options = [60, 0, 1, 4, 0, 0, 0, 0, 43, 0, 0x9e, 4, 0, 0, 0, 0];
    let rest = [44, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 1, 2, 3, 4];
    let extended = [&options[..], &rest, &crafted::udp6(crafted::THEM6)].concat();
    let query = [&[130, 0, 0, 0, 0, 100, 0, 0][..], &crafted::GROUP.octets(), &[2, 125, 0, 0]].concat();
    let router = "fe80::9".parse().unwrap();
    let nodes = "ff02::1".parse().unwrap();
    vec![
        crafted::ipv6(crafted::THEM6, crafted::US6, 0, 64, &extended),
        crafted::ipv6(crafted::THEM6, crafted::US6, 99, 64, &[7; 40]),
        crafted::ipv4(crafted::THEM, 99, &[7; 40]),
        crafted::icmpv6(router, nodes, 1, &query),
        crafted::solicitation("::".parse().unwrap(), crafted::GROUP, &[]),
        crafted::arp(2, crafted::THEM, crafted::NOBODY, crafted::US),
        crafted::arp(1, crafted::THEM, crafted::NOBODY, crafted::US),
    ]
}

/// Changes, removes or adds bytes of a frame.
fn damage(frame: &mut Vec<u8>, rng: &mut StdRng) {
    for _ in 0..rng.random_range(1..4) {
        let at = rng.random_range(0..=frame.len());
        match rng.random_range(0..6) {
            0 => frame.truncate(at),
            1 => frame.insert(at, rng.random()),
            2 => frame.extend(std::iter::repeat_n(rng.random::<u8>(), rng.random_range(0..100))),
            // The values lie at the edges, where lengths and offsets go wrong.
            3 if at < frame.len() => frame[at] = [0, 1, 0x7f, 0x80, 0xff][rng.random_range(0..5)],
            _ if at < frame.len() => frame[at] ^= 1 << rng.random_range(0..8),
            _ => {}
        }
    }
}

#[test]
fn a_million_mutated_frames_are_each_dealt_with() {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let start = Instant::now();
    let frames = good_frames(start);
    assert!(frames.len() > 12);
    let (mut ours, spread) = (stack(0, None, start), Spread::new(3, 0));
    let mut seen = [0_u64; 6];
    for number in 0..FRAMES {
        let now = start + Duration::from_micros(number * 50);
        let mut frame = frames[rng.random_range(0..frames.len())].clone();
        damage(&mut frame, &mut rng);
        // `Good` stands for a port that found all checksums right, so that the parts behind them are reached.
        let checksums = [Checksums::Unknown, Checksums::Good][rng.random_range(0..2)];
        // In a port with several queues, frames are spread first.
        if let Destination::Queue(queue) = spread.destination(&frame) {
            assert!(queue < 3);
        }
        match ours.receive(&mut frame, checksums, now) {
            Arrival::Datagram { flow, payload } => {
                assert!(payload.end <= frame.len(), "{frame:?}");
                ours.refuse(&frame, now);
                let _ = ours.route(flow, now);
                seen[0] += 1;
            }
            Arrival::Segment { packet, .. } => {
                assert!(packet.end <= frame.len(), "{frame:?}");
                ours.refuse(&frame, now);
            }
            Arrival::Reply(len) => {
                assert!(len <= frame.len(), "{frame:?}");
                seen[1] += 1;
            }
            Arrival::Refused(_) => seen[2] += 1,
            Arrival::Unreachable(_) => seen[5] += 1,
            Arrival::TooBig { flow, mtu } => {
                ours.reduce_path_mtu(flow.peer().ip(), mtu, now);
                assert!(ours.max_payload(flow.peer().ip()) >= 548);
                seen[4] += 1;
            }
            Arrival::Nothing => seen[3] += 1,
        }
        ours.poll_neighbours(now);
        while ours.poll_transmit(|frame| assert!(frame.len() <= 192)).is_some() {}
    }
    assert!([0, 2, 3, 4].into_iter().all(|kind| seen[kind] > 1000), "{seen:?}");
    let counters = ours.counters();
    assert!(counters.malformed > 1000 && counters.checksum > 1000 && counters.foreign > 1000, "{counters:?}");
}

/// All verdicts of a port on a frame.
const SAID: [Checksums; 5] =
    [Checksums::Unknown, Checksums::Header, Checksums::Payload, Checksums::Good, Checksums::Bad];

#[test]
fn what_is_predicted_is_what_the_stack_finds() {
    let start = Instant::now();
    predict(stack(0, None, start), start);
    predict(stack(0, None, start).without_udp_checksums(), start);
}

/// Checks that the stack finds every datagram that is predicted, and that almost every datagram of the flow
/// that it finds is predicted.
fn predict(mut ours: Stack, start: Instant) {
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let flow = Flow::new(address(1, false, 4000), 9);
    let prediction = ours.predict(flow).unwrap();
    let mut theirs = stack(1, None, start);
    ours.announce();
    for mut frame in transmits(&mut ours) {
        theirs.receive(&mut frame, Checksums::Unknown, start);
    }
    theirs.announce();
    for mut frame in transmits(&mut theirs) {
        ours.receive(&mut frame, Checksums::Unknown, start);
    }
    let _ = theirs.route(Flow::new(address(0, false, 9), 4000), start);
    for mut frame in transmits(&mut theirs) {
        ours.receive(&mut frame, Checksums::Unknown, start);
    }
    for mut frame in transmits(&mut ours) {
        theirs.receive(&mut frame, Checksums::Unknown, start);
    }
    let Route::Ready(path) = theirs.route(Flow::new(address(0, false, 9), 4000), start) else {
        panic!("no answer")
    };
    let others = good_frames(start);
    let (mut alike, mut found, mut rejected) = (0, 0, 0);
    for _ in 0..FRAMES / 2 {
        let mut frame = match rng.random_range(0..8) {
            0 => others[rng.random_range(0..others.len())].clone(),
            _ => {
                let mut frame = vec![0; path.len() + rng.random_range(0..100)];
                frame[path.len()..].fill_with(|| rng.random());
                path.seal(&mut frame);
                frame
            }
        };
        match rng.random_range(0..3) {
            0 => {}
            1 => damage(&mut frame, &mut rng),
            // A single bit of the headers changes, which a comparison of a part of them would miss.
            _ => {
                let at = rng.random_range(0..frame.len().min(path.len()));
                frame[at] ^= 1 << rng.random_range(0..8);
            }
        }
        let checksums = SAID[rng.random_range(0..SAID.len())];
        let predicted = prediction.payload(&frame, checksums);
        let arrival = ours.receive(&mut frame.clone(), checksums, start);
        while ours.poll_transmit(|_| ()).is_some() {}
        match (predicted, arrival) {
            (Some(range), Arrival::Datagram { flow: whose, payload }) => {
                assert_eq!((whose, range), (flow, payload), "{frame:?}");
                alike += 1;
            }
            (Some(_), other) => panic!("{other:?} instead of a datagram: {frame:?}, {checksums:?}"),
            (None, Arrival::Datagram { flow: whose, .. }) if whose == flow => found += 1,
            (None, _) => rejected += 1,
        }
    }
    assert!(alike > FRAMES / 8 && rejected > FRAMES / 16 && found < alike / 20, "{alike} {found} {rejected}");
}
