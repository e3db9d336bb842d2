//! Neighbour discovery as RFC 4861 and RFC 3810 describe it.

use super::crafted::{GROUP, NOBODY, THEM6, US6, advertisement, icmpv6, solicitation};
use super::{MACS, address, stack, transmits};
use crate::{Arrival, Checksums, Flow, Route, Stack};
use std::net::Ipv6Addr;
use std::time::Instant;

const NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);

fn source_link_layer() -> Vec<u8> {
    [&[1, 1][..], &MACS[1].0].concat()
}

/// Returns the frames that a stack sends when `frame` arrives, and the stack.
fn answers(mut frame: Vec<u8>) -> (Vec<Vec<u8>>, Stack) {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    assert_eq!(ours.receive(&mut frame, Checksums::Unknown, now), Arrival::Nothing);
    (transmits(&mut ours), ours)
}

#[test]
fn solicitations_are_answered_and_those_that_must_be_discarded_are_not() {
    let (option, nobody) = (source_link_layer(), Ipv6Addr::UNSPECIFIED);
    for (good, to) in [
        (solicitation(THEM6, GROUP, &option), THEM6),
        (solicitation(THEM6, US6, &option), THEM6),
        (solicitation(THEM6, US6, &[]), THEM6),
        // Unknown options are skipped.
        (solicitation(THEM6, GROUP, &[&[77, 1, 0, 0, 0, 0, 0, 0][..], &option].concat()), THEM6),
        (solicitation(nobody, GROUP, &[]), NODES),
    ] {
        let (answers, _) = answers(good.clone());
        let [answer] = &answers[..] else { panic!("{good:?}: {answers:?}") };
        assert_eq!((answer[54], &answer[38..54]), (136, &to.octets()[..]));
        for (hops, code) in [(254, 0), (255, 1)] {
            let mut wrong = good.clone();
            wrong[21] = hops;
            wrong[55] = code;
            // The sum stays right: the checksum loses what the code gains.
            wrong[57] = wrong[57].wrapping_sub(code);
            not_answered(wrong);
        }
        let mut damaged = good;
        damaged[57] ^= 1;
        not_answered(damaged);
    }
    for wrong in [
        solicitation(nobody, GROUP, &option),
        solicitation(nobody, US6, &[]),
        solicitation(nobody, NODES, &[]),
        solicitation(THEM6, GROUP, &[1, 0, 2, 0, 0, 0, 0, 2]),
        solicitation(THEM6, GROUP, &[&option[..], &[9, 0, 0, 0, 0, 0, 0, 0]].concat()),
        solicitation(THEM6, GROUP, &[1, 2, 2, 0, 0, 0, 0, 2]),
        solicitation(THEM6, GROUP, &[1]),
        // A group has no link-layer address, and a message is not shorter than its target.
        icmpv6(THEM6, GROUP, 255, &[&[135, 0, 0, 0, 0, 0, 0, 0][..], &GROUP.octets(), &option].concat()),
        icmpv6(THEM6, GROUP, 255, &[&[135, 0, 0, 0, 0, 0, 0, 0][..], &US6.octets()[..15]].concat()),
    ] {
        not_answered(wrong);
    }
}

fn not_answered(frame: Vec<u8>) {
    let (answers, mut ours) = answers(frame.clone());
    assert!(answers.is_empty(), "{frame:?}");
    assert_eq!(ours.counters().neighbour, 0, "{frame:?}");
    let flow = Flow::new(address(1, true, 9), 4000);
    assert!(matches!(ours.route(flow, Instant::now()), Route::Resolving), "it learnt from {frame:?}");
}

#[test]
fn advertisements_are_believed_if_they_answer_and_are_well_formed() {
    let now = Instant::now();
    let flow = Flow::new(address(1, true, 9), 4000);
    let learns = |mut frame: Vec<u8>| {
        let mut ours = stack(0, None, now);
        let _ = ours.route(flow, now);
        ours.receive(&mut frame, Checksums::Unknown, now);
        matches!(ours.route(flow, now), Route::Ready(_))
    };
    assert!(learns(advertisement(THEM6, MACS[1], 0x60)));
    // A frame that is not an answer makes the stack ask its sender.
    let mut ours = stack(0, None, now);
    let _ = ours.route(flow, now);
    transmits(&mut ours);
    ours.receive(&mut advertisement(THEM6, NOBODY, 0x20), Checksums::Unknown, now);
    assert!(matches!(ours.route(flow, now), Route::Resolving));
    ours.poll_neighbours(now);
    let [question] = &transmits(&mut ours)[..] else { panic!("one question") };
    assert_eq!((&question[..6], question[54]), (&NOBODY.0[..], 135));
    let message = |to: Ipv6Addr, flags: u8, options: &[u8]| {
        let message = [&[136, 0, 0, 0, flags, 0, 0, 0][..], &THEM6.octets(), options].concat();
        icmpv6(THEM6, to, 255, &message)
    };
    let option = [&[2, 1][..], &MACS[1].0].concat();
    assert!(learns(message(US6, 0x40, &option)));
    // An answer goes to the asker.
    assert!(!learns(message(NODES, 0x60, &option)));
    assert!(!learns(message(US6, 0x60, &[2, 0])));
    assert!(!learns(message(US6, 0x60, &[&option[..], &[7, 0]].concat())));
    let mut far = message(US6, 0x60, &option);
    far[21] = 64;
    assert!(!learns(far));
    // The answer comes without a question.
    let mut ours = stack(0, None, now);
    ours.receive(&mut advertisement(THEM6, NOBODY, 0x60), Checksums::Unknown, now);
    assert!(matches!(ours.route(flow, now), Route::Resolving));
}

#[test]
fn the_group_in_which_it_is_asked_is_reported_at_the_start_and_when_a_router_asks() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    ours.announce();
    let frames = transmits(&mut ours);
    let report = frames.iter().find(|frame| frame.len() > 62 && frame[62] == 143).expect("a report");
    let is_report = |report: &[u8], kind: u8| {
        assert_eq!(report[..6], [0x33, 0x33, 0, 0, 0, 0x16]);
        // The packet has a hop limit of 1 and the alert for routers. Its source is unspecified, since there
        // is no link-local address.
        assert_eq!((report[20], report[21], &report[22..38]), (0, 1, &[0; 16][..]));
        assert_eq!(report[54..62], [58, 0, 5, 2, 0, 0, 1, 0]);
        assert_eq!(
            (report[62], &report[68..72], &report[74..90]),
            (143, &[0, 1, kind, 0][..], &GROUP.octets()[..])
        );
    };
    is_report(report, 4);
    let query = |group: Ipv6Addr, hops: u8, source: Ipv6Addr, rest: &[u8]| {
        let message = [&[130, 0, 0, 0, 0, 100, 0, 0][..], &group.octets(), rest].concat();
        icmpv6(source, NODES, hops, &message)
    };
    for group in [Ipv6Addr::UNSPECIFIED, GROUP] {
        let (asked, _) = answers(query(group, 1, ROUTER, &[2, 125, 0, 0]));
        is_report(&asked[0], 2);
        let (asked, _) = answers(query(group, 1, ROUTER, &[]));
        assert_eq!(
            (asked[0][62], &asked[0][38..54], &asked[0][70..86]),
            (131, &GROUP.octets()[..], &GROUP.octets()[..])
        );
    }
    let elsewhere = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 9);
    for wrong in [
        query(elsewhere, 1, ROUTER, &[2, 125, 0, 0]),
        query(GROUP, 2, ROUTER, &[2, 125, 0, 0]),
        query(GROUP, 1, THEM6, &[2, 125, 0, 0]),
    ] {
        assert!(answers(wrong).0.is_empty());
    }
}

#[test]
fn routers_that_ask_without_an_end_get_few_reports() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let query = [&[130, 0, 0, 0, 0, 100, 0, 0][..], &GROUP.octets(), &[2, 125, 0, 0]].concat();
    let mut reports = 0;
    for _ in 0..10_000 {
        let mut frame = icmpv6(ROUTER, NODES, 1, &query);
        assert_eq!(ours.receive(&mut frame, Checksums::Unknown, now), Arrival::Nothing);
        reports += transmits(&mut ours).len();
    }
    assert!((1..5_000).contains(&reports), "{reports} reports");
}
