//! A network stack in user space, without I/O: Ethernet with VLAN tags, ARP, IPv4, IPv6 with neighbour discovery, ICMP,
//! and UDP.
//!
//! Frames and the time come in as arguments, frames go out as return values, so the stack runs over any port, in tests,
//! and under a fuzzer. [`Stack`] is all of it:
//!
//! ```text
//!  frame ---> Stack::receive ---> Arrival: a datagram, a segment, an answer to send, an error for a flow, or nothing
//!  flow  ---> Stack::route   ---> Route: headers for this flow (a Path), or that a neighbour must answer first
//!  peer  ---> Stack::link    ---> likewise: the Ethernet header alone (a Link), for who makes packets by himself
//!             Stack::poll_transmit ---> ARP and neighbour requests, ICMP errors
//! ```
//!
//! Payloads are never copied: [`Stack::receive`] says where in the frame a datagram's payload lies, and a [`Path`] writes
//! headers into the room in front of one.
//!
//! TCP is not in here: segments are checked and handed out as packets, and [`Stack::link`] is how packets leave.
//!
//! Datagrams are never fragmented: what routers say of a path's MTU is remembered ([`Stack::narrow`]), and
//! [`Stack::most`] tells what fits.
//!
//! Limits: IP fragments that arrive are dropped and counted; options of IPv4 are skipped; there is no multicast but
//! what neighbour discovery needs.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod arp;
mod checksum;
mod counters;
mod ethernet;
mod flow;
mod icmp;
mod icmpv6;
mod interface;
mod ipv4;
mod ipv6;
mod link;
mod mac;
mod neighbours;
mod outbox;
mod path;
mod path_mtu;
mod ports;
mod prediction;
mod spread;
mod stack;
mod tcp;
#[cfg(test)]
mod tests;
mod toeplitz;
mod udp;

pub use counters::Counters;
pub use flow::Flow;
pub use interface::{Interface, InvalidInterface, Subnet};
pub use link::Link;
pub use mac::MacAddr;
pub use path::{HEADERS, Offload, Offloaded, Path};
pub use ports::Ports;
pub use prediction::Prediction;
pub use spread::{Destination, Spread};
pub use stack::{Arrival, Checksums, Route, Stack};
