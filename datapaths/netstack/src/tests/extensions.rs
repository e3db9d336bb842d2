//! The extension headers of IPv6 as RFC 8200 and RFC 6946 describe them.

use super::crafted::{THEM6, US6, icmpv6, ipv6, sealed, udp6};
use super::{MACS, stack, transmits};
use crate::{Arrival, Checksums};
use std::net::Ipv6Addr;
use std::time::Instant;

const NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const DESTINATION_OPTIONS: u8 = 60;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;

/// Returns the fate of a packet with this chain of headers in front of a datagram: true if the datagram
/// arrives, and the code and the pointer of the error.
fn fate(to: Ipv6Addr, first: u8, headers: &[u8], last: &[u8]) -> (bool, Option<(u8, u32)>) {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let mut frame = ipv6(THEM6, to, first, 64, &[headers, last].concat());
    let arrival = ours.receive(&mut frame, Checksums::Unknown, now);
    let errors = transmits(&mut ours);
    assert!(errors.len() <= 1);
    let error = errors.first().map(|error| {
        // The error is a Parameter Problem, which quotes the packet; it goes to the sender's card and
        // address, from the first stack's.
        assert_eq!(
            (&error[..6], &error[22..38], &error[38..54]),
            (&MACS[1].0[..], &US6.octets()[..], &THEM6.octets()[..])
        );
        assert_eq!((error[20], error[54]), (58, 4));
        assert_eq!(error[62..], frame[14..14 + (frame.len() - 14).min(96)]);
        (error[55], u32::from_be_bytes(error[58..62].try_into().unwrap()))
    });
    (matches!(arrival, Arrival::Datagram { .. }), error)
}

/// Returns a header of destination options with a single option of this kind.
fn option(kind: u8) -> [u8; 8] {
    [17, 0, kind, 4, 0, 0, 0, 0]
}

#[test]
fn unknown_options_say_what_to_do_about_them() {
    let datagram = udp6(THEM6);
    let fate = |to, kind| fate(to, DESTINATION_OPTIONS, &option(kind), &datagram);
    for harmless in [0x1e, 0x3e, 0x05, 0x01] {
        assert_eq!(fate(US6, harmless), (true, None), "{harmless:#x}");
    }
    for to in [US6, NODES] {
        assert_eq!(fate(to, 0x5e), (false, None));
        assert_eq!(fate(to, 0x9e), (false, Some((2, 42))));
    }
    assert_eq!((fate(US6, 0xde), fate(NODES, 0xde)), ((false, Some((2, 42))), (false, None)));
}

#[test]
fn options_for_every_hop_come_first() {
    let datagram = udp6(THEM6);
    assert_eq!(fate(US6, 0, &[17, 0, 1, 4, 0, 0, 0, 0], &datagram), (true, None));
    let late = [[0, 0, 1, 4, 0, 0, 0, 0], [17, 0, 1, 4, 0, 0, 0, 0]].concat();
    assert_eq!(fate(US6, DESTINATION_OPTIONS, &late, &datagram), (false, Some((1, 40))));
    // The option is longer than its header.
    assert_eq!(fate(US6, 0, &[17, 0, 1, 5, 0, 0, 0, 0], &datagram), (false, None));
    assert_eq!(fate(US6, 0, &[17, 0, 0, 0, 0, 0, 0, 1], &datagram), (false, None));
}

#[test]
fn a_route_that_was_followed_to_its_end_is_no_obstacle() {
    let datagram = udp6(THEM6);
    let route = |left| [17, 2, 0, left, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(fate(US6, ROUTING, &route(0), &datagram), (true, None));
    assert_eq!(fate(US6, ROUTING, &route(1), &datagram), (false, Some((0, 42))));
}

#[test]
fn a_fragment_that_is_all_of_its_packet_is_taken() {
    let datagram = udp6(THEM6);
    let fragment = |place: u8, more: u8| [17, 0, place, more, 1, 2, 3, 4];
    assert_eq!(fate(US6, FRAGMENT, &fragment(0, 0), &datagram), (true, None));
    // The reserved bits are set.
    assert_eq!(fate(US6, FRAGMENT, &fragment(0, 6), &datagram), (true, None));
    for (place, more) in [(0, 1), (0, 8), (1, 0)] {
        assert_eq!(fate(US6, FRAGMENT, &fragment(place, more), &datagram), (false, None));
    }
}

#[test]
fn an_unknown_protocol_is_reported() {
    assert_eq!(fate(US6, 99, &[], &[1; 30]), (false, Some((1, 6))));
    assert_eq!(fate(US6, DESTINATION_OPTIONS, &[99, 0, 1, 4, 0, 0, 0, 0], &[1; 30]), (false, Some((1, 40))));
    assert_eq!(fate(NODES, 99, &[], &[1; 30]), (false, None));
    // Nothing may follow this header.
    assert_eq!(fate(US6, 59, &[], &[1; 30]), (false, None));
}

#[test]
fn no_error_answers_an_error() {
    let error = [&[1, 4, 0, 0, 0, 0, 0, 0][..], &[0; 48]].concat();
    let error = sealed(THEM6, US6, 58, 2, &error);
    let options = [58, 0, 0x9e, 4, 0, 0, 0, 0];
    assert_eq!(fate(US6, DESTINATION_OPTIONS, &options, &error), (false, None));
    let echo = sealed(THEM6, US6, 58, 2, &[128, 0, 0, 0, 0, 1, 0, 1]);
    assert_eq!(fate(US6, DESTINATION_OPTIONS, &options, &echo), (false, Some((2, 42))));
}

#[test]
fn a_chain_without_end_is_cut() {
    let chain = [60, 0, 1, 4, 0, 0, 0, 0].repeat(60);
    assert_eq!(fate(US6, DESTINATION_OPTIONS, &chain, &[]), (false, None));
    let mut chain = [60, 0, 1, 4, 0, 0, 0, 0].repeat(8);
    chain[56] = 17;
    assert_eq!(fate(US6, DESTINATION_OPTIONS, &chain, &udp6(THEM6)), (true, None));
}

#[test]
fn errors_are_few() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let mut errors = 0;
    for _ in 0..1000 {
        ours.receive(&mut ipv6(THEM6, US6, 99, 64, &[1; 30]), Checksums::Unknown, now);
        errors += transmits(&mut ours).len();
    }
    assert_eq!(errors, 100);
}

#[test]
fn an_echo_reply_has_the_headers_of_its_own_alone() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let echo = [128, 0, 0, 0, 0, 1, 0, 1, 5, 6, 7];
    let plain = icmpv6(THEM6, US6, 64, &echo);
    let extended = [&[58, 0, 1, 4, 0, 0, 0, 0][..], &sealed(THEM6, US6, 58, 2, &echo)].concat();
    let replies = [plain, ipv6(THEM6, US6, DESTINATION_OPTIONS, 64, &extended)].map(|mut frame| {
        let Arrival::Reply(len) = ours.receive(&mut frame, Checksums::Unknown, now) else {
            panic!("no reply")
        };
        frame.truncate(len);
        frame
    });
    assert_eq!(replies[0], replies[1]);
    for code in [1, 255] {
        let mut wrong = icmpv6(THEM6, US6, 64, &[128, code, 0, 0, 0, 1, 0, 1]);
        assert_eq!(ours.receive(&mut wrong, Checksums::Unknown, now), Arrival::Nothing);
    }
}
