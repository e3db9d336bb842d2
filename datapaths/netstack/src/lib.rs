//! A network stack in user space, without I/O: Ethernet with VLAN tags, ARP, IPv4, IPv6 with neighbour discovery, ICMP,
//! and UDP.
//!
//! Frames and the time come in as arguments, frames go out as return values, so the stack runs over any port, in tests,
//! and under a fuzzer. [`Stack`] is all of it:
//!
//! ```text
//!  frame ---> Stack::receive     ---> Arrival: a datagram, a segment, a reply to send, an error for a flow, or nothing
//!  flow  ---> Stack::route       ---> Route: headers for this flow (a Path), or that a neighbour must answer first
//!  peer  ---> Stack::link_header ---> likewise: the Ethernet header alone, for packets that were made elsewhere
//!             Stack::poll_transmit ---> ARP and neighbour requests, ICMP errors
//! ```
//!
//! Nothing waits in here: what can't be sent before a neighbour has answered goes into [`Waiting`], and [`Stack::take_settled`] says when to
//! look there.
//!
//! Payloads are never copied: [`Stack::receive`] says where in the frame a datagram's payload lies, and a [`Path`] writes
//! headers into the headroom of one. On the way of most datagrams no header is parsed: a [`Prediction`] compares a frame with the
//! headers that the flow's next datagram must have.
//!
//! Formats are in `wire`, one file for each protocol, without state; the state of an interface is in `iface`. The formats are this
//! crate's own, and smoltcp's judge them in the tests: so two implementations check each other, and none is its own judge.
//!
//! TCP is not in here: segments are verified and handed out as packets, and [`Stack::link_header`] is the way of packets out.
//!
//! Datagrams are never fragmented: the path MTUs that routers report are remembered ([`Stack::reduce_path_mtu`]), and
//! [`Stack::max_payload`] is the largest payload that fits.
//!
//! Limits: IP fragments that arrive are dropped and counted; options of IPv4 are skipped; there is no multicast except for
//! neighbour discovery. ARP and neighbour discovery prove nothing: a host on the wire that answers in the name of a
//! neighbour is taken for it, unless that has answered before. Only encryption helps against that.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod iface;
#[cfg(test)]
mod tests;
mod wire;

pub use iface::{
    Arrival, Checksums, Counters, Destination, Flow, HEADERS, Interface, InvalidInterface, LinkHeader,
    Offload, Offloaded, Path, Ports, Prediction, Route, Spread, Stack, Subnet, Waiting, WaitingLimits,
};
pub use wire::ecn::is_marked;
pub use wire::mac::MacAddr;
