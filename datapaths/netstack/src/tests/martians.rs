//! Frames with sources that no sender on a wire has.

use super::crafted::{UDP4, US, US6, arp, icmp, icmpv6, ipv4, ipv6, udp6};
use super::{MACS, address, stack, transmits};
use crate::{Arrival, Checksums, Flow};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Instant;

fn is_dropped_as_martian(mut frame: Vec<u8>) {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    assert_eq!(ours.receive(&mut frame, Checksums::Unknown, now), Arrival::Nothing, "{frame:?}");
    assert_eq!(ours.counters().martians, 1, "{frame:?}");
    assert!(transmits(&mut ours).is_empty(), "{frame:?}");
}

#[test]
fn sources_of_no_sender_are_dropped_whatever_they_carry() {
    for source in [
        US,
        Ipv4Addr::new(127, 0, 0, 1),
        Ipv4Addr::new(127, 9, 9, 9),
        Ipv4Addr::BROADCAST,
        Ipv4Addr::new(10, 0, 0, 255),
        Ipv4Addr::new(10, 0, 0, 0),
        Ipv4Addr::new(224, 0, 0, 1),
        Ipv4Addr::UNSPECIFIED,
        Ipv4Addr::new(0, 0, 0, 7),
    ] {
        is_dropped_as_martian(ipv4(source, 17, &UDP4));
        is_dropped_as_martian(ipv4(source, 1, &icmp(&[8, 0, 0, 0, 0, 1, 0, 1])));
        is_dropped_as_martian(ipv4(source, 99, &[1; 20]));
    }
    for source in [
        US6,
        Ipv6Addr::LOCALHOST,
        Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1),
        // Otherwise the address would be taken for 10.0.0.2.
        Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped(),
    ] {
        is_dropped_as_martian(ipv6(source, US6, 17, 9, &udp6(source)));
        is_dropped_as_martian(icmpv6(source, US6, 9, &[128, 0, 0, 0, 0, 1, 0, 1]));
        is_dropped_as_martian(ipv6(source, US6, 99, 9, &[1; 20]));
    }
    let nobody = Ipv6Addr::UNSPECIFIED;
    is_dropped_as_martian(ipv6(nobody, US6, 17, 9, &udp6(nobody)));
    for sender in [Ipv4Addr::LOCALHOST, Ipv4Addr::BROADCAST, Ipv4Addr::new(224, 0, 0, 1)] {
        is_dropped_as_martian(arp(1, sender, MACS[1], US));
    }
}

#[test]
fn a_node_without_an_address_gets_no_echo() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let mut echo = icmpv6(Ipv6Addr::UNSPECIFIED, US6, 9, &[128, 0, 0, 0, 0, 1, 0, 1]);
    assert_eq!(ours.receive(&mut echo, Checksums::Unknown, now), Arrival::Nothing);
    assert!(transmits(&mut ours).is_empty());
}

/// Replies to such a frame would go to all nodes.
#[test]
fn a_group_of_interfaces_sends_nothing() {
    for source in [[0xff; 6], [0x33, 0x33, 0, 0, 0, 1]] {
        for mut frame in [
            ipv4(Ipv4Addr::new(10, 0, 0, 2), 1, &icmp(&[8, 0, 0, 0, 0, 1, 0, 1])),
            arp(1, Ipv4Addr::new(10, 0, 0, 2), MACS[1], US),
        ] {
            frame[6..12].copy_from_slice(&source);
            is_dropped_as_martian(frame);
        }
    }
}

#[test]
fn a_flow_to_the_interface_itself_is_not_predicted_from_a_wire() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    assert!(ours.predict(Flow::new(address(0, false, 9), 9)).is_none());
    // A message from the interface to itself was on no wire.
    let mut own = ipv4(US, 17, &UDP4);
    let arrival = ours.receive_own(&mut own, now);
    assert_eq!(arrival, Arrival::Datagram { flow: Flow::new(address(0, false, 4096), 9), payload: 42..46 });
    assert_eq!(ours.receive(&mut own, Checksums::Unknown, now), Arrival::Nothing);
}

#[test]
fn a_broadcast_address_is_no_peer() {
    let now = Instant::now();
    let mut ours = stack(0, None, now);
    let broadcast = Flow::new(([10, 0, 0, 255], 9).into(), 4000);
    assert!(matches!(ours.route(broadcast, now), crate::Route::NoRoute));
}
