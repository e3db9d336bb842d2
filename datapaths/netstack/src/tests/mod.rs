//! Whole frames: two stacks that talk to each other, strangers, and another implementation as the judge.

mod addresses;
mod attacks;
mod crafted;
mod discovery;
mod ends;
mod extensions;
mod judge;
mod marks;
mod martians;
mod mutated;
mod refusals;

use crate::{Interface, MacAddr, Stack};
use std::net::SocketAddr;
use std::time::Instant;

pub(crate) const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];

/// Returns a neighbour, 0 or 1, with addresses of both families.
pub(crate) fn stack(number: usize, vlan: Option<u16>, now: Instant) -> Stack {
    let subnets = [["10.0.0.1/24", "fd00::1/64"], ["10.0.0.2/24", "fd00::2/64"]][number];
    let subnets = subnets.map(|subnet| subnet.parse().unwrap());
    let gateways = [[10, 0, 0, 2].into(), "fd00::2".parse().unwrap()];
    let gateways = if number == 0 { &gateways[..] } else { &[] };
    Stack::new(Interface::new(MACS[number], 1500, vlan, &subnets, gateways).unwrap(), now)
}

/// Returns the address of a neighbour, with a port.
pub(crate) fn address(number: usize, v6: bool, port: u16) -> SocketAddr {
    let ip = match (number, v6) {
        (0, false) => "10.0.0.1",
        (1, false) => "10.0.0.2",
        (0, true) => "fd00::1",
        _ => "fd00::2",
    };
    SocketAddr::new(ip.parse().unwrap(), port)
}

/// Turns the ICMP error in a frame into a report that a packet was too large, with the MTU that would have
/// sufficed.
pub(crate) fn too_big(error: &[u8], mtu: u16) -> Vec<u8> {
    use crate::wire::checksum::Sum;
    let mut frame = error.to_vec();
    let v6 = frame[12..14] == [0x86, 0xdd];
    let (message, kind) = if v6 { (14 + 40, [2, 0]) } else { (14 + 20, [3, 4]) };
    frame[message..message + 2].copy_from_slice(&kind);
    frame[message + 2..message + 4].fill(0);
    frame[message + 6..message + 8].copy_from_slice(&mtu.to_be_bytes());
    let mut sum = Sum::of(&frame[message..]);
    if v6 {
        // The pseudo-header consists of addresses, length and protocol.
        let len = (frame.len() - message) as u16;
        sum = sum.and(Sum::of(&frame[22..54])).and_number(len).and_number(58);
    }
    frame[message + 2..message + 4].copy_from_slice(&sum.checksum());
    frame
}

/// Returns the frames that the stack wants to send.
pub(crate) fn transmits(stack: &mut Stack) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| stack.poll_transmit(<[u8]>::to_vec)).collect()
}
