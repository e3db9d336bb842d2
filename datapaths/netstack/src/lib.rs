//! A network stack in user space, without I/O: Ethernet with VLAN tags, ARP, IPv4, IPv6 with neighbour discovery, ICMP,
//! and UDP.
//!
//! Frames and the time are arguments, frames to send are return values, so the stack runs over any port, in
//! tests, and under a fuzzer. [`Stack`] is the whole interface:
//!
//! ```text
//!  frame ---> Stack::receive     ---> Arrival: a datagram, a segment, a reply to send, an error for a flow, or nothing
//!  flow  ---> Stack::route       ---> Route: headers for this flow (a Path), or that a neighbour must answer first
//!  peer  ---> Stack::link_header ---> likewise: the Ethernet header alone, for packets that were made elsewhere
//!             Stack::poll_transmit ---> ARP and neighbour requests, ICMP errors
//! ```
//!
//! The stack keeps no frame that waits: what can't be sent before a neighbour has answered goes into
//! [`Waiting`], and [`Stack::take_settled`] says when to look there.
//!
//! Payloads are never copied: [`Stack::receive`] says where in the frame a datagram's payload lies, and a
//! [`Path`] writes headers into the headroom of a message. For most datagrams no header is parsed: a
//! [`Prediction`] compares a frame with the headers that the flow's next datagram must have.
//!
//! Formats are in `wire`, a file for each protocol, without state; the state of an interface is in `iface`.
//! The formats are this crate's own, and smoltcp's formats judge them in the tests: so two implementations
//! check each other, and neither is its own judge.
//!
//! TCP is not part of the stack: segments are verified and handed out as packets, and [`Stack::link_header`]
//! is the way of packets out.
//!
//! Datagrams are never fragmented: the stack remembers the path MTUs that routers report
//! ([`Stack::reduce_path_mtu`]), and [`Stack::max_payload`] is the largest payload that fits.
//!
//! Limits: arriving IP fragments are dropped and counted; options of IPv4 are skipped; there is no multicast
//! except for neighbour discovery. ARP and neighbour discovery prove nothing: a host on the wire that answers
//! in the name of a neighbour is taken for the neighbour, unless the neighbour has answered before. Only
//! encryption helps against such a host.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod iface;
#[cfg(test)]
mod tests;
mod wire;

pub use iface::{
    Arrival, Binding, Checksums, Counters, Destination, Flow, HEADERS, Interface, InvalidInterface,
    LinkHeader, Offload, Offloaded, Path, Ports, Prediction, Route, Spread, Stack, Subnet, Waiting,
    WaitingLimits,
};
pub use wire::ecn::is_marked;
pub use wire::mac::MacAddr;
