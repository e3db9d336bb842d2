//! Whole frames: two stacks that talk to each other, strangers, and another implementation as the judge.

mod ends;
mod judge;
mod mutated;

use crate::{Interface, MacAddr, Stack};
use std::net::SocketAddr;
use std::time::Instant;

pub(crate) const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 0, 1]), MacAddr([2, 0, 0, 0, 0, 2])];

/// One of two neighbours, 0 or 1, with addresses of both families.
pub(crate) fn stack(number: usize, vlan: Option<u16>, now: Instant) -> Stack {
    let subnets = [["10.0.0.1/24", "fd00::1/64"], ["10.0.0.2/24", "fd00::2/64"]][number];
    let subnets = subnets.map(|subnet| subnet.parse().unwrap());
    let gateways = [[10, 0, 0, 2].into(), "fd00::2".parse().unwrap()];
    let gateways = if number == 0 { &gateways[..] } else { &[] };
    Stack::new(Interface::new(MACS[number], 1500, vlan, &subnets, gateways).unwrap(), now)
}

/// The address of one of the two, with a port.
pub(crate) fn address(number: usize, v6: bool, port: u16) -> SocketAddr {
    let ip = match (number, v6) {
        (0, false) => "10.0.0.1",
        (1, false) => "10.0.0.2",
        (0, true) => "fd00::1",
        _ => "fd00::2",
    };
    SocketAddr::new(ip.parse().unwrap(), port)
}

/// What the stack wants to send.
pub(crate) fn transmits(stack: &mut Stack) -> Vec<Vec<u8>> {
    std::iter::from_fn(|| stack.poll_transmit(<[u8]>::to_vec)).collect()
}
