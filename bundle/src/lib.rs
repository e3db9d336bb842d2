//! Two boxes at the ends of a path that they don't control, in the manner of Bundler (thesis 4.7.6;
//! Cangialosi and others, EuroSys 2021).
//!
//! All packets from a site to another site, the bundle, pass through a [`Sendbox`] and, behind the path, a
//! [`Receivebox`]. The receivebox acknowledges a few of the packets, the boundaries of epochs, with the
//! number of bytes that have arrived. From these acknowledgements the sendbox makes a [`Measurement`], as
//! the transport of a single flow would, and a congestion control answers with a rate at which only a short
//! queue stays in the path. Packets beyond this rate wait at the sendbox, which, unlike the path, can choose
//! the packets that go first ([`Scheduling`]). The connections through the boxes know nothing of them, and
//! no packet is changed.
//!
//! # Boundaries
//!
//! Both boxes hash the header of each packet: its identity, the destination's address and its port. The identity is the identification of
//! IPv4. Where IPv4 has none, and in IPv6, it is the checksum of TCP, UDP or UDP-Lite. A packet is a boundary if the size of epochs, a
//! number of packets, divides its hash. The size is the largest power of two of at most a quarter of the packets that a shortest round trip
//! takes, so that boxes which disagree about it for a while still share the boundaries of the larger size.
//!
//! A packet without an identity is forwarded and counted, and is never a boundary: fragments, packets of other protocols without an
//! identification, and packets of IPv6 with extension headers. A bundle of such packets alone is not measured, and its rate stays unlimited.
//!
//! # Faults
//!
//! A boundary that is lost makes an epoch longer. A boundary that arrives late, or twice, and an
//! acknowledgement that is late, forged or malformed count for nothing, and are counted
//! ([`SendboxStatistics`]). If no acknowledgement comes for a second, the sendbox lets all packets pass until
//! the next one comes. A receivebox that starts again is recognised by its instance. Until a sendbox has
//! spoken, a receivebox acknowledges ever fewer of the packets that come within a second. Segments must not be joined
//! between the boxes: offloads such as GRO and TSO change headers and counts.
//!
//! The key that both boxes share keeps out senders who do not see the path. It is no cryptography: a listener on the path can
//! compute it, and forge messages. Where that matters, the messages need a secure way of their own.
//!
//! The boxes have no I/O: packets, messages and the time are arguments, and packets and messages are results.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod epoch;
mod hash;
mod header;
mod message;
mod queue;
mod receivebox;
mod scheduling;
mod sendbox;
mod startup;

pub use header::{Header, NoHeader};
pub use message::{MESSAGE, Malformed};
pub use receivebox::{Receivebox, ReceiveboxStatistics};
pub use scheduling::{Priorities, Scheduling};
pub use sendbox::{Bundle, Measurement, Sendbox, SendboxStatistics};
