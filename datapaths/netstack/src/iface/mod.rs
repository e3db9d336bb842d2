//! The state of an interface: its addresses, neighbours, path MTUs and ports, and the stack that uses them. The formats of packets
//! are in [`wire`](crate::wire).

mod binding;
mod checksums;
mod counters;
mod family;
mod flow;
mod header_template;
mod interface;
mod link_header;
mod neighbour;
mod neighbours;
mod outbox;
mod path_mtu;
mod ports;
mod prediction;
mod rate_limit;
mod receive;
mod refuse;
mod requests;
mod spread;
mod stack;
mod subnet;
mod toeplitz;
mod waiting;

pub use binding::Binding;
pub use checksums::Checksums;
pub use counters::Counters;
pub use flow::Flow;
pub use header_template::{HEADERS, Offload, Offloaded, Path};
pub use interface::Interface;
pub use link_header::LinkHeader;
pub use ports::Ports;
pub use prediction::Prediction;
pub use receive::Arrival;
pub use spread::{Destination, Spread};
pub use stack::{Route, Stack};
pub use subnet::{InvalidInterface, Subnet};
pub use waiting::{Waiting, WaitingLimits};
