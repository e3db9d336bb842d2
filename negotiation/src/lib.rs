//! Two ends agree on a Chunnel stack in one round trip; any number of ends, through a key-value store.
//!
//! The client proposes its stack with all alternatives, the server picks a branch of every `select!` on both
//! sides, and each end builds what was picked. [`Negotiate`] puts [`connect`](Negotiate::connect) and
//! [`listen`](Negotiate::listen) on every stack.
//!
//! * **Rooms.** Each uses only those before it: `wire`, the messages, specified in `WIRE.md`; `auth`,
//!   credentials and proofs; `handshake`, the protocol without I/O; `link`, the connection below a stack;
//!   `upgrade`, changing the stack; `happy_eyeballs`, the addresses of a name; `early`, 0-RTT; `reconnecting`;
//!   `connect` and `listen`; `fallback`, alternatives over several datapaths.
//! * **Loss.** The client repeats its offer until it is answered; the server repeats its answer when the
//!   offer is repeated. Data that overtakes the answer is kept.
//! * **Refusal.** If no stack suits both ends, both get the same error, which names the Chunnel and the
//!   reason.
//! * **Strangers.** A server keeps no state for an address before it has accepted an offer from it, apart
//!   from a bounded number of handshakes under way. Garbage is dropped and counted. A busy server asks for a
//!   proof of address. Replies to an unvalidated address are limited to three times the bytes received, and each
//!   network has a maximum rate of offers ([`Settings`]).
//! * **Attackers.** With [`Credentials`] all handshake messages are authenticated, replayed ones change
//!   nothing, and edited ones are dropped. [`Settings::floor`] sets the guarantees that a stack must give,
//!   whatever the other end says. A Chunnel such as TLS binds itself to [`Agreement::transcript`].
//! * **Zero round trips.** [`Connect::early`] sends the first messages with the offer, over the stack to
//!   which the server agreed before. If the server picks another stack, they are sent again over that one. An
//!   application whose messages must not be replayed by an attacker refuses early data.
//! * **Traces.** Spans of `tracing` with the target `bertha::negotiation`: `negotiation.connect` at a client,
//!   with the server, the agreement or the error; `negotiation.accept` at a server, while it builds the
//!   stack; `negotiation.upgrade` where a change is asked for, and `negotiation.change` at each end, until
//!   the old stack has gone. A connection with 0-RTT waits for nothing, and has none.
//! * **The end.** `close` tells the peer. A peer that vanishes is noticed after
//!   [`idle_timeout`](Settings::idle_timeout). A peer that restarts is told apart by the connection id.

#![forbid(unsafe_code)]
// Lints of this repository switch `__testing` on.
#![cfg_attr(
    not(feature = "__testing"),
    allow(
        dead_code,
        unreachable_pub,
        unused_imports,
        reason = "`rendezvous` and `testing` use parts of each room"
    )
)]

mod auth;
mod connect;
mod connection;
mod connections;
mod deadline;
mod early;
mod fallback;
mod handshake;
mod happy_eyeballs;
mod link;
mod listen;
mod memory;
pub mod names;
mod negotiate;
pub mod observing;
mod reached;
mod reconnecting;
#[cfg(feature = "rendezvous")]
pub mod rendezvous;
mod runs;
mod settings;
mod shortage;
mod span;
#[cfg(feature = "__testing")]
pub mod testing;
mod uncloned;
mod upgrade;
mod wire;

pub use auth::{Credentials, IdentityKey, PublicKey, Session, SharedKey};
pub use connect::{Connect, ConnectEarly};
pub use connection::Negotiated;
pub use early::{Early, EarlyCache, EarlyStatistics};
pub use fallback::Fallback;
pub use handshake::{Agreement, ZeroRtt};
pub use link::{Link, LinkStatistics};
pub use listen::{Incoming, IncomingStatistics, Listen, Overload};
pub use negotiate::{BoxedStack, Negotiate};
pub use reconnecting::{Interruption, Received, Reconnecting, ReconnectingStatistics};
pub use runs::Runs;
pub use settings::Settings;
pub use upgrade::{Pick, Switching, Upgradable};

#[cfg(test)]
mod wire_vectors;
