//! Congestion control: the window and the rate of a flow.
//!
//! A reliable transport, here [`Reliable`](crate::Reliable), reports signals in the terms of Table 4.2 of the
//! thesis: an [`Ack`] for each acknowledgement, and a [`Flow`] for the state of the connection. A
//! [`CongestionControl`] answers with a window in bytes and, if it has a rate, with a rate in bytes per
//! second. It sees neither packets nor sockets, reads no clock and sends nothing, so the same code runs in a
//! simulation, outside the process, and on any datapath.
//!
//! | algorithm | follows | reacts to |
//! |---|---|---|
//! | [`NewReno`] | RFC 9002, appendix B; RFC 6582 | loss, ECN |
//! | [`Cubic`] | RFC 9438 | loss, ECN |
//! | [`Bbr`] | BBR version 1, thesis 4.4.3 | delivery rate and round-trip time, ECN |
//! | [`FixedWindow`] | nothing: for dedicated links, and tests | nothing |
//!
//! An [`Algorithm`], as in `Reliable::new().with(Cubic)`, starts a [`CongestionControl`] for each connection.
//! A custom algorithm implements both traits. With the feature `quinn`, `ForQuinn` makes any algorithm a
//! congestion control of the crate `quinn`. The TCP of the crate `smoltcp` takes no custom algorithm: its
//! controls are the variants of an enumeration, and not implementations of a trait.

mod algorithm;
mod bbr;
mod cubic;
pub(crate) mod delivery_rate;
mod fixed;
#[cfg(feature = "quinn")]
mod for_quinn;
mod newreno;
mod recovery;
mod signals;
#[cfg(test)]
mod tests;

pub use algorithm::{Algorithm, CongestionControl, NewFlow};
pub use bbr::Bbr;
pub use cubic::Cubic;
pub use fixed::FixedWindow;
#[cfg(feature = "quinn")]
pub use for_quinn::ForQuinn;
pub use newreno::NewReno;
pub use signals::{Ack, Flow};
