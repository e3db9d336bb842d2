//! Two ends agree on a Chunnel stack in one round trip.
//!
//! The client proposes its stack with all alternatives, the server picks a branch of every `select!` on both sides, and
//! each end builds what was picked. [`Negotiate`] puts [`connect`](Negotiate::connect) and
//! [`listen`](Negotiate::listen) on every stack.
//!
//! * **Rooms.** Each uses those before it alone: `wire`, the messages, specified in `WIRE.md`; `auth`, credentials and proofs; `handshake`, the
//!   protocol without I/O; `link`, what a stack stands on; `upgrade`, changing the stack; `early`, 0-RTT; `connect` and `listen`.
//! * **Loss.** The client repeats its offer until it is answered; the server repeats its answer when the offer is
//!   repeated. Data that overtakes the answer is kept.
//! * **Refusal.** If no stack suits both ends, both get the same error, which names the Chunnel and the reason.
//! * **Strangers.** A server keeps no state for an address that has not sent an offer which it accepted, apart from a
//!   bounded number of handshakes under way. Garbage is dropped and counted. A busy server believes nobody's address
//!   before it was shown; it sends nobody three times what it got in his name, and takes offers at a bounded rate from
//!   each network ([`Settings`]).
//! * **Attackers.** With [`Credentials`] all handshake messages are authenticated, replayed ones change nothing, and no
//!   edited one is believed. [`Settings::floor`] says what a stack must guarantee, whatever the other end says.
//!   [`Agreement::transcript`] is what a Chunnel such as TLS binds itself to.
//! * **Zero round trips.** [`Connect::early`] sends the first messages with the offer, over the stack that
//!   the server agreed to before. If it picks another one they are sent again over that: an application that can't have
//!   messages replayed by an attacker refuses them.
//! * **The end.** `close` tells the peer. A peer that vanishes is noticed after
//!   [`idle_timeout`](Settings::idle_timeout). A peer that restarts is told apart by the connection id.

#![forbid(unsafe_code)]

mod auth;
mod connect;
mod connection;
mod deadline;
mod early;
/// Public for fuzzers, model checkers and `bertha-rendezvous` alone.
#[doc(hidden)]
pub mod handshake;
#[allow(missing_docs, missing_debug_implementations, reason = "parts of it are public for one crate alone")]
mod link;
mod listen;
mod negotiate;
mod runs;
mod settings;
mod shortage;
#[allow(missing_docs, missing_debug_implementations, reason = "parts of it are public for one crate alone")]
mod upgrade;
/// Public for fuzzers, model checkers and `bertha-rendezvous` alone.
#[doc(hidden)]
pub mod wire;

pub use auth::{Credentials, Fresh, IdentityKey, PublicKey, Session, SharedKey};
pub use connect::{Connect, ConnectEarly};
pub use connection::Negotiated;
pub use early::{Early, EarlyCache};
pub use handshake::{Agreement, ZeroRtt};
pub use link::Link;
pub use listen::{Incoming, Listen};
pub use negotiate::{BoxedStack, Negotiate};
pub use runs::Runs;
pub use settings::Settings;
pub use upgrade::{Pick, Switching, Upgradable};

/// The parts of a link and of a change of stacks on which connections with any number of endpoints are built as well; for
/// `bertha-rendezvous` alone.
#[doc(hidden)]
pub mod internals {
    pub use crate::link::{End, EpochQueue, GROUP_CAPACITY, Liveness, Parked};
    pub use crate::upgrade::{Agent, Bottom, ChangeLimits, Epochs, Handover, Shell, Staged};
}

#[cfg(test)]
mod wire_vectors;
