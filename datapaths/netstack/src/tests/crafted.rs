//! Frames made byte by byte, without any of the code under test.

use super::MACS;
use crate::MacAddr;
use std::net::{Ipv4Addr, Ipv6Addr};

pub(super) const US: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(super) const THEM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub(super) const US6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1);
pub(super) const THEM6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2);
/// The group in which the first stack is asked for its address.
pub(super) const GROUP: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 1);
pub(super) const NOBODY: MacAddr = MacAddr([2, 0, 0, 0, 0, 0xee]);

/// Computes the Internet checksum of all parts.
fn checksum(parts: &[&[u8]]) -> [u8; 2] {
    let bytes = parts.concat();
    let mut sum: u32 = 0;
    for word in bytes.chunks(2) {
        sum += u32::from(u16::from_be_bytes([word[0], *word.get(1).unwrap_or(&0)]));
    }
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Returns a frame from the second stack's card.
pub(super) fn frame(to: MacAddr, ethertype: u16, packet: &[u8]) -> Vec<u8> {
    [&to.0[..], &MACS[1].0, &ethertype.to_be_bytes(), packet].concat()
}

/// Returns an IPv4 packet, whose payload has its checksums already.
pub(super) fn ipv4(source: Ipv4Addr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [t0, t1] = (20 + payload.len() as u16).to_be_bytes();
    let mut header =
        [&[0x45, 0, t0, t1, 0, 0, 0, 0, 9, protocol, 0, 0][..], &source.octets(), &US.octets()].concat();
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum);
    frame(MACS[0], 0x0800, &[&header[..], payload].concat())
}

/// Returns an IPv6 packet; `payload` begins with the header that `next` names.
pub(super) fn ipv6(source: Ipv6Addr, to: Ipv6Addr, next: u8, hops: u8, payload: &[u8]) -> Vec<u8> {
    let [l0, l1] = (payload.len() as u16).to_be_bytes();
    let header = [0x60, 0, 0, 0, l0, l1, next, hops];
    let mac = if to.is_multicast() {
        let [.., a, b, c, d] = to.octets();
        MacAddr([0x33, 0x33, a, b, c, d])
    } else {
        MACS[0]
    };
    frame(mac, 0x86dd, &[&header[..], &source.octets(), &to.octets(), payload].concat())
}

/// Returns an ICMP message with its checksum.
pub(super) fn icmp(message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let sum = checksum(&[&message]);
    message[2..4].copy_from_slice(&sum);
    message
}

/// Returns an ICMPv6 message, or a message of another protocol, with its checksum at the offset `at`.
pub(super) fn sealed(source: Ipv6Addr, to: Ipv6Addr, protocol: u8, at: usize, message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let len = (message.len() as u32).to_be_bytes();
    let sum = checksum(&[&source.octets(), &to.octets(), &len, &[0, 0, 0, protocol], &message]);
    message[at..at + 2].copy_from_slice(&sum);
    message
}

/// Returns a frame with an ICMPv6 message.
pub(super) fn icmpv6(source: Ipv6Addr, to: Ipv6Addr, hops: u8, message: &[u8]) -> Vec<u8> {
    ipv6(source, to, 58, hops, &sealed(source, to, 58, 2, message))
}

/// Returns a datagram to port 9, with its checksum.
pub(super) fn udp6(source: Ipv6Addr) -> Vec<u8> {
    sealed(source, US6, 17, 6, &[0x10, 0, 0, 9, 0, 12, 0, 0, b't', b'e', b's', b't'])
}

/// A datagram to port 9 without a checksum.
pub(super) const UDP4: [u8; 12] = [0x10, 0, 0, 9, 0, 12, 0, 0, b't', b'e', b's', b't'];

/// Returns an ARP packet to the first stack's card or to all nodes.
pub(super) fn arp(operation: u8, sender: Ipv4Addr, mac: MacAddr, target: Ipv4Addr) -> Vec<u8> {
    let packet = [
        &[0, 1, 8, 0, 6, 4, 0, operation][..],
        &mac.0,
        &sender.octets(),
        &if operation == 2 { MACS[0].0 } else { [0; 6] },
        &target.octets(),
    ]
    .concat();
    frame(if operation == 2 { MACS[0] } else { MacAddr::BROADCAST }, 0x0806, &packet)
}

/// Returns a neighbour solicitation for the first stack's address with these options.
pub(super) fn solicitation(source: Ipv6Addr, to: Ipv6Addr, options: &[u8]) -> Vec<u8> {
    icmpv6(source, to, 255, &[&[135, 0, 0, 0, 0, 0, 0, 0][..], &US6.octets(), options].concat())
}

/// Returns a neighbour advertisement of `target` with these flags.
pub(super) fn advertisement(target: Ipv6Addr, mac: MacAddr, flags: u8) -> Vec<u8> {
    let message = [&[136, 0, 0, 0, flags, 0, 0, 0][..], &target.octets(), &[2, 1], &mac.0].concat();
    icmpv6(target, US6, 255, &message)
}
