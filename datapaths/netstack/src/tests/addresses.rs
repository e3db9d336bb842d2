//! Several addresses of a family.

use super::ends::{datagram, exchange};
use super::{MACS, address, stack, transmits};
use crate::{Arrival, Checksums, Flow, Interface, Route, Stack, Subnet};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

const OURS: [&str; 5] = ["10.0.0.1", "10.0.0.7", "fd00::1", "fd00::7", "fe80::1"];

/// Returns a neighbour of the second stack.
fn ours(now: Instant) -> Stack {
    let subnet = |own: &str| {
        let address: IpAddr = own.parse().unwrap();
        Subnet { address, prefix: if address.is_ipv4() { 24 } else { 64 } }
    };
    Stack::new(Interface::new(MACS[0], 1500, None, &OURS.map(subnet), &[]).unwrap(), now)
}

#[test]
fn answers_leave_from_the_address_that_was_asked() {
    for own in OURS {
        let now = Instant::now();
        let mut stacks = [stack(1, None, now), ours(now)];
        let to = SocketAddr::new(own.parse().unwrap(), 9);
        let asked = Flow::new(to, 4000);
        assert!(matches!(stacks[0].route(asked, now), Route::Resolving));
        exchange(&mut stacks, now);
        let Route::Ready(there) = stacks[0].route(asked, now) else { panic!("{own} does not answer") };
        let mut question = datagram(&there, b"question");
        let [_, ours] = &mut stacks;
        let copy = question.clone();
        let Arrival::Datagram { flow, payload } = ours.receive(&mut question, Checksums::Unknown, now) else {
            panic!("no datagram to {own}")
        };
        assert_eq!((ours.interface().own(flow), &question[payload]), (Some(to.ip()), &b"question"[..]));
        if let Some(prediction) = ours.predict(flow) {
            assert!(prediction.payload(&copy, Checksums::Unknown).is_some(), "{own}");
            let elsewhere = ours.predict(flow.at(1 - flow.number())).unwrap();
            assert!(elsewhere.payload(&copy, Checksums::Unknown).is_none(), "{own}");
        }
        let Route::Ready(back) = ours.route_back(flow, now) else { panic!("the neighbour is known") };
        let mut answer = datagram(&back, b"answer");
        ours.refuse(&copy, now);
        let refusals = transmits(ours);
        let arrival = stacks[0].receive(&mut answer, Checksums::Unknown, now);
        assert!(matches!(arrival, Arrival::Datagram { flow, .. } if flow == asked), "{arrival:?}");
        let hear = |mut frame: Vec<u8>| stacks[0].receive(&mut frame, Checksums::Unknown, now);
        assert!(refusals.into_iter().map(hear).any(|it| it == Arrival::Refused(asked)), "{own}");
    }
}

#[test]
fn an_error_about_a_datagram_finds_the_flow_of_its_address() {
    let now = Instant::now();
    for v6 in [false, true] {
        let mut stacks = [ours(now), stack(1, None, now)];
        let flow = Flow::new(address(1, v6, 9), 4000).at(1);
        assert!(matches!(stacks[0].route(flow, now), Route::Resolving));
        exchange(&mut stacks, now);
        let Route::Ready(path) = stacks[0].route(flow, now) else { panic!("no answer") };
        let sent = datagram(&path, b"to nobody");
        stacks[1].receive(&mut sent.clone(), Checksums::Unknown, now);
        stacks[1].refuse(&sent, now);
        let [refusal] = &mut transmits(&mut stacks[1])[..] else { panic!("one refusal") };
        assert_eq!(stacks[0].receive(refusal, Checksums::Unknown, now), Arrival::Refused(flow));
    }
}

#[test]
fn all_addresses_are_announced() {
    let mut ours = ours(Instant::now());
    ours.announce();
    let frames = transmits(&mut ours);
    let claims = |own: &IpAddr| match own {
        // The sender of a question for itself, and the target of an advertisement.
        IpAddr::V4(own) => frames.iter().any(|it| it[12..14] == [8, 6] && it[28..32] == own.octets()),
        IpAddr::V6(own) => {
            frames.iter().any(|it| it.len() > 78 && it[54] == 136 && it[62..78] == own.octets())
        }
    };
    assert!(OURS.map(|own| own.parse().unwrap()).iter().all(claims), "{frames:?}");
    // A group for both addresses that end alike, and a group for the third; an address of the link is their source.
    let reports: Vec<_> = frames.iter().filter(|frame| frame.len() > 62 && frame[62] == 143).collect();
    assert_eq!(reports.iter().map(|it| it[89]).collect::<Vec<_>>(), [1, 7]);
    assert!(reports.iter().all(|it| it[22..24] == [0xfe, 0x80]));
    assert_eq!(ours.counters().outbox_full, 0);
}
