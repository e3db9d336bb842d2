//! Two stacks on a wire.

use super::{MACS, address, stack, too_big, transmits};
use crate::{Arrival, Checksums, Flow, MacAddr, Offload, Path, Route, Stack};
use std::time::{Duration, Instant};

/// Passes waiting frames from each stack to the other, until none waits.
pub(super) fn exchange(stacks: &mut [Stack; 2], now: Instant) {
    loop {
        let mut quiet = true;
        for from in 0..2 {
            for mut frame in transmits(&mut stacks[from]) {
                quiet = false;
                assert_eq!(stacks[1 - from].receive(&mut frame, Checksums::Unknown, now), Arrival::Nothing);
            }
        }
        if quiet {
            return;
        }
    }
}

/// Returns the headers from the first stack to the second, after it has asked for the address.
pub(super) fn path(stacks: &mut [Stack; 2], flow: Flow, now: Instant) -> Path {
    assert!(matches!(stacks[0].route(flow, now), Route::Resolving));
    exchange(stacks, now);
    let Route::Ready(path) = stacks[0].route(flow, now) else { panic!("no answer") };
    path
}

pub(super) fn datagram(path: &Path, payload: &[u8]) -> Vec<u8> {
    let mut frame = [&vec![0; path.len()], payload].concat();
    path.seal(&mut frame);
    frame
}

#[test]
fn a_datagram_arrives_whatever_its_family_its_vlan_and_its_length() {
    for (v6, vlan) in [(false, None), (true, None), (false, Some(7)), (true, Some(4094))] {
        let now = Instant::now();
        let mut stacks = [stack(0, vlan, now), stack(1, vlan, now)];
        let flow = Flow::new(address(1, v6, 9), 4000);
        let path = path(&mut stacks, flow, now);
        assert!(path.len() <= crate::HEADERS && path.len().is_multiple_of(2));
        let most = stacks[0].interface().max_payload(flow.peer().ip());
        for len in [0, 1, 2, 7, 64, 1001, most] {
            let payload: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let mut frame = datagram(&path, &payload);
            let arrival = stacks[1].receive(&mut frame, Checksums::Unknown, now);
            let Arrival::Datagram { flow: seen, payload: at } = arrival else { panic!("{arrival:?}") };
            assert_eq!((seen, &frame[at]), (Flow::new(address(0, v6, 4000), 9), &payload[..]));
            // The stack that was asked knows the way back.
            assert!(matches!(stacks[1].route(seen, now), Route::Ready(_)));
        }
    }
}

#[test]
fn a_wrong_bit_is_noticed() {
    let now = Instant::now();
    let mut stacks = [stack(0, None, now), stack(1, None, now)];
    for v6 in [false, true] {
        let path = path(&mut stacks, Flow::new(address(1, v6, 9), 4000), now);
        let whole = datagram(&path, b"some bytes");
        let header = if v6 { 40 } else { 20 };
        for bit in 8 * 14..8 * whole.len() {
            let mut frame = whole.clone();
            frame[bit / 8] ^= 1 << (bit % 8);
            let arrival = stacks[1].receive(&mut frame, Checksums::Unknown, now);
            // IPv6 covers neither class, label nor hops by a checksum.
            let uncovered = v6 && matches!((bit / 8 - 14, bit % 8), (0, 0..4) | (1..4 | 7, _));
            assert_eq!(arrival != Arrival::Nothing, uncovered, "bit {} of byte {}", bit % 8, bit / 8 - 14);
        }
        let mut frame = whole.clone();
        let last = frame.len() - 1;
        frame[last] ^= 1;
        assert_ne!(stacks[1].receive(&mut frame, Checksums::Good, now), Arrival::Nothing);
        assert_eq!(stacks[1].receive(&mut whole.clone(), Checksums::Bad, now), Arrival::Nothing);
        // IPv4 alone allows datagrams without a checksum.
        let mut frame = whole;
        frame[14 + header + 6..14 + header + 8].fill(0);
        assert_eq!(stacks[1].receive(&mut frame, Checksums::Unknown, now) == Arrival::Nothing, v6);
    }
}

#[test]
fn without_checksums_udp_has_none_over_ipv4_and_nothing_else_is_left_out() {
    let now = Instant::now();
    let mut stacks = [0, 1].map(|number| stack(number, None, now).without_udp_checksums());
    for v6 in [false, true] {
        let path = path(&mut stacks, Flow::new(address(1, v6, 9), 4000), now);
        let whole = datagram(&path, b"some bytes");
        let header = if v6 { 40 } else { 20 };
        assert_eq!(whole[14 + header + 6..14 + header + 8] == [0, 0], !v6);
        let accepts = |stacks: &mut [Stack; 2], frame: &[u8]| {
            stacks[1].receive(&mut frame.to_vec(), Checksums::Unknown, now) != Arrival::Nothing
        };
        assert!(accepts(&mut stacks, &whole));
        // The checksum that the stack does not verify may be wrong; IPv4's header checksum may not.
        let mut wrong = whole.clone();
        wrong[14 + header + 6] ^= 1;
        assert_eq!(accepts(&mut stacks, &wrong), !v6);
        let mut wrong = whole;
        wrong[14 + 8] ^= u8::from(!v6);
        assert_eq!(accepts(&mut stacks, &wrong), v6);
    }
}

#[test]
fn padding_and_foreign_frames_do_not_matter() {
    let now = Instant::now();
    let mut stacks = [stack(0, None, now), stack(1, None, now)];
    let path = path(&mut stacks, Flow::new(address(1, false, 9), 4000), now);
    let mut padded = datagram(&path, b"x");
    padded.resize(60, 0xaa);
    let arrival = stacks[1].receive(&mut padded.clone(), Checksums::Unknown, now);
    assert!(matches!(arrival, Arrival::Datagram { payload, .. } if payload == (42..43)));
    let before = stacks[1].counters().foreign;
    let mut elsewhere = padded.clone();
    elsewhere[5] = 9;
    assert_eq!(stacks[1].receive(&mut elsewhere, Checksums::Unknown, now), Arrival::Nothing);
    let mut tagged = [&padded[..12], &[0x81, 0, 0, 5], &padded[12..]].concat();
    assert_eq!(stacks[1].receive(&mut tagged, Checksums::Unknown, now), Arrival::Nothing);
    assert_eq!(stacks[1].counters().foreign, before + 2);
    // The tag has only a priority.
    tagged[15] = 0;
    tagged[14] = 0xe0;
    assert_ne!(stacks[1].receive(&mut tagged, Checksums::Unknown, now), Arrival::Nothing);
}

#[test]
fn a_closed_port_is_answered_and_the_answer_finds_its_flow() {
    let now = Instant::now();
    for v6 in [false, true] {
        let mut stacks = [stack(0, None, now), stack(1, None, now)];
        let flow = Flow::new(address(1, v6, 9), 4000);
        let path = path(&mut stacks, flow, now);
        for attempt in 0..150 {
            let mut frame = datagram(&path, &vec![7; attempt * 9]);
            assert!(matches!(
                stacks[1].receive(&mut frame, Checksums::Unknown, now),
                Arrival::Datagram { .. }
            ));
            stacks[1].refuse(&frame, now);
            let answers = transmits(&mut stacks[1]);
            assert_eq!(answers.len(), usize::from(attempt < 100), "not more than a hundred");
            for mut answer in answers {
                let arrival = stacks[0].receive(&mut answer, Checksums::Unknown, now);
                assert_eq!(arrival, Arrival::Refused(flow));
            }
        }
    }
}

#[test]
fn far_peers_are_reached_through_the_gateway() {
    let now = Instant::now();
    let mut stacks = [stack(0, None, now), stack(1, None, now)];
    for far in ["192.0.2.9:53", "[2001:db8::1]:53"] {
        let path = path(&mut stacks, Flow::new(far.parse().unwrap(), 4000), now);
        assert_eq!(datagram(&path, b"")[..6], MACS[1].0);
    }
    assert!(matches!(stacks[1].route(Flow::new("192.0.2.9:53".parse().unwrap(), 1), now), Route::NoRoute));
    assert!(matches!(stacks[1].route(Flow::new(address(1, false, 53), 1), now), Route::Local));
}

#[test]
fn a_silent_neighbour_is_asked_three_times_and_given_up() {
    let (start, mut stacks) = (Instant::now(), [0, 1].map(|it| stack(it, None, Instant::now())));
    let flow = Flow::new(address(1, false, 9), 4000);
    for second in 0..3 {
        let now = start + Duration::from_secs(second);
        assert!(matches!(stacks[0].route(flow, now), Route::Resolving));
        assert!(matches!(stacks[0].route(flow, now), Route::Resolving));
        assert_eq!(transmits(&mut stacks[0]).len(), 1);
    }
    assert!(matches!(stacks[0].route(flow, start + Duration::from_secs(3)), Route::NoNeighbour));
}

#[test]
fn a_neighbour_with_a_new_card_is_heard() {
    let start = Instant::now();
    let mut stacks = [stack(0, None, start), stack(1, None, start)];
    let flow = Flow::new(address(1, false, 9), 4000);
    let path = path(&mut stacks, flow, start);
    assert!(stacks[0].is_current(&path, start));
    assert!(!stacks[0].is_current(&path, start + Duration::from_secs(61)));
    let subnets = ["10.0.0.2/24".parse().unwrap()];
    let card = MacAddr([2, 0, 0, 0, 0, 9]);
    let mut other = Stack::new(crate::Interface::new(card, 1500, None, &subnets, &[]).unwrap(), start);
    other.announce();
    for mut frame in transmits(&mut other) {
        stacks[0].receive(&mut frame, Checksums::Unknown, start);
        stacks[1].receive(&mut frame, Checksums::Unknown, start);
    }
    assert_eq!((stacks[0].counters().disputed, stacks[1].counters().conflicts), (1, 1));
    // The old card is asked, and does not answer; then the new card has its place.
    let mut now = start;
    while stacks[0].is_current(&path, now) && now < start + Duration::from_millis(500) {
        now += Duration::from_millis(25);
        stacks[0].poll_neighbours(now);
        for mut frame in transmits(&mut stacks[0]) {
            let asked = if stacks[0].is_current(&path, now) { MACS[1] } else { card };
            assert_eq!(frame[..6], asked.0);
            assert_eq!(other.receive(&mut frame, Checksums::Unknown, now), Arrival::Nothing);
        }
    }
    assert!(!stacks[0].is_current(&path, now));
    for mut frame in transmits(&mut other) {
        stacks[0].receive(&mut frame, Checksums::Unknown, now);
    }
    // The new card has answered, and need not be asked for a minute.
    let later = now + Duration::from_secs(59);
    let Route::Ready(path) = stacks[0].route(flow, later) else { panic!("the way is lost") };
    assert_eq!(datagram(&path, b"")[..6], card.0);
    assert!(transmits(&mut stacks[0]).is_empty());
}

#[test]
fn requests_beyond_measure_are_dropped_and_counted() {
    let now = Instant::now();
    let mut one = stack(0, None, now);
    for number in 0..100_u8 {
        let _ = one.route(Flow::new(([10, 0, 0, number + 10], 9).into(), 4000), now);
    }
    assert_eq!(one.counters().outbox_full, 100 - transmits(&mut one).len() as u64);
}

#[test]
fn a_stack_that_overhears_learns_and_says_nothing() {
    let now = Instant::now();
    for v6 in [false, true] {
        let mut stacks = [stack(0, None, now), stack(1, None, now)];
        let mut sibling = stack(1, None, now);
        let _ = stacks[0].route(Flow::new(address(1, v6, 9), 4000), now);
        for mut frame in transmits(&mut stacks[0]) {
            assert_eq!(sibling.overhear(&mut frame, Checksums::Unknown, now), Arrival::Nothing);
        }
        assert!(transmits(&mut sibling).is_empty());
        assert_eq!(sibling.counters(), crate::Counters::default());
        assert!(matches!(sibling.route(Flow::new(address(0, v6, 4000), 9), now), Route::Ready(_)));
    }
}

/// Computes the checksums that were left to the port, as a port does.
fn offload(frame: &mut [u8], path: &Path) {
    use crate::wire::checksum::Sum;
    let Some(offloaded) = path.offloaded() else { return };
    let (link, udp) = (offloaded.link, offloaded.link + offloaded.ip);
    if offloaded.offload.header {
        assert!(offloaded.is_v4);
        assert_eq!(frame[link + 10..link + 12], [0, 0]);
        let checksum = Sum::of(&frame[link..udp]).checksum();
        frame[link + 10..link + 12].copy_from_slice(&checksum);
    }
    if offloaded.offload.udp {
        // The field holds the sum of the pseudo-header, which so becomes a part of the sum.
        let checksum = Sum::of(&frame[udp..]).checksum();
        frame[udp + 6..udp + 8].copy_from_slice(&checksum);
    }
}

#[test]
fn a_port_completes_the_checksums_that_are_left_to_it() {
    let now = Instant::now();
    for (v6, vlan, header, udp) in [
        (false, None, true, true),
        (false, Some(7), true, true),
        (true, None, true, true),
        (true, Some(7), false, true),
        (false, None, true, false),
        (false, None, false, true),
        (true, None, true, false),
        (false, None, false, false),
    ] {
        let plain = [stack(0, vlan, now), stack(1, vlan, now)];
        let [ours, theirs] = plain;
        let mut stacks = [ours.with_offload(Offload { header, udp }), theirs];
        let flow = Flow::new(address(1, v6, 9), 4000);
        let path = path(&mut stacks, flow, now);
        assert_eq!(path.offloaded().is_some(), udp || header && !v6);
        for len in [0, 1, 2, 63, 1000] {
            let sent = datagram(&path, &vec![0xa5; len]);
            if path.offloaded().is_some() {
                // The checksum is not whole yet, and counts as wrong unless the port says otherwise.
                let left = stacks[1].receive(&mut sent.clone(), Checksums::Unknown, now);
                assert_eq!(left, Arrival::Nothing);
                let said = match (header && !v6, udp) {
                    (true, true) => Checksums::Good,
                    (true, false) => Checksums::Header,
                    _ => Checksums::Payload,
                };
                let trusted = stacks[1].receive(&mut sent.clone(), said, now);
                assert!(matches!(trusted, Arrival::Datagram { .. }), "{trusted:?} as {said:?}");
            }
            let mut completed = sent;
            offload(&mut completed, &path);
            let arrival = stacks[1].receive(&mut completed, Checksums::Unknown, now);
            assert!(matches!(arrival, Arrival::Datagram { .. }), "{arrival:?}");
        }
    }
}

#[test]
fn a_path_that_carries_less_is_told_and_remembered_for_a_while() {
    let now = Instant::now();
    for (v6, header) in [(false, 28), (true, 48)] {
        let mut stacks = [stack(0, None, now), stack(1, None, now)];
        let flow = Flow::new(address(1, v6, 9), 4000);
        let ip = flow.peer().ip();
        let path = path(&mut stacks, flow, now);
        let large = datagram(&path, &vec![7; 1400]);
        stacks[1].refuse(&large, now);
        let [error] = &transmits(&mut stacks[1])[..] else { panic!("one error") };
        let arrival = stacks[0].receive(&mut too_big(error, 1300), Checksums::Unknown, now);
        assert_eq!(arrival, Arrival::TooBig { flow, mtu: 1300 });
        assert_eq!(stacks[0].max_payload(ip), 1500 - header);
        assert!(stacks[0].reduce_path_mtu(ip, 1300, now) && !stacks[0].reduce_path_mtu(ip, 1300, now));
        assert_eq!(stacks[0].max_payload(ip), 1300 - header);
        assert!(!stacks[0].is_current(&path, now), "who has sent too much is to look again");
        let later = stacks[0].path_mtu_expires_at().unwrap();
        assert_eq!(later, now + Duration::from_secs(600));
        assert_eq!(stacks[0].poll_expired_path_mtu(later), Some(ip));
        assert_eq!((stacks[0].poll_expired_path_mtu(later), stacks[0].path_mtu_expires_at()), (None, None));
        assert_eq!(stacks[0].max_payload(ip), 1500 - header);
        // The router does not report the MTU, for a packet of 1428 bytes.
        if !v6 {
            let arrival = stacks[0].receive(&mut too_big(error, 0), Checksums::Unknown, now);
            assert_eq!(arrival, Arrival::TooBig { flow, mtu: 1006 });
        }
    }
}

#[test]
fn fragments_are_dropped_and_counted() {
    let now = Instant::now();
    let mut stacks = [stack(0, None, now), stack(1, None, now)];
    let path = path(&mut stacks, Flow::new(address(1, false, 9), 4000), now);
    let whole = datagram(&path, b"some bytes");
    // The fields say that more fragments follow, and that the offset is not zero.
    for (at, value) in [(20, 0x20), (21, 1), (20, 1)] {
        let mut fragment = whole.clone();
        fragment[20] = 0;
        fragment[at] |= value;
        fragment[24..26].fill(0);
        let checksum = crate::wire::checksum::Sum::of(&fragment[14..34]).checksum();
        fragment[24..26].copy_from_slice(&checksum);
        assert_eq!(stacks[1].receive(&mut fragment, Checksums::Unknown, now), Arrival::Nothing);
    }
    assert_eq!(stacks[1].counters().fragments, 3);
}
