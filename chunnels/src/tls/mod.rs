//! Messages over TLS 1.3 (RFC 8446): encrypted, authenticated by certificates or raw public keys (RFC 7250), forward secret.
//!
//! [`Tls`] runs the TLS of the `rustls` crate over any connection that is reliable and ordered: messages of a stream, its
//! bytes ([`Chunk`](bertha_core::Chunk)), or datagrams below [`Ordered`](crate::Ordered) and [`Reliable`](crate::Reliable).
//!
//! ```
//! use bertha_chunnels::{Ordered, Reliable, Tls, TlsIdentity, Trust};
//! use bertha_core::make_stack;
//!
//! # fn example() -> Result<(), bertha_core::Error> {
//! let client = make_stack!(Tls::client("store.example", Trust::ca_file("ca.pem")?)?, Ordered::new(), Reliable::new());
//! let identity = TlsIdentity::from_pem_files("store.pem", "store.key")?;
//! let server = make_stack!(Tls::server(identity)?, Ordered::new(), Reliable::new());
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! No message can be read, changed, repeated, left out or put in another place on its way; the end of the
//! stream can't be cut off unnoticed, since only a close_notify (section 6.1) makes the other end see
//! [`Closed`](bertha_core::ErrorKind::Closed). Recorded messages stay secret if all long-term keys become
//! known later: each connection exchanges new keys, a resumed connection too. The client knows the server;
//! the server knows the client if it [requires](Tls::require_clients) an identity, and then guarantees
//! [`PeerIdentified`](bertha_core::guarantee::PeerIdentified) as clients always do. The check of the server
//! can't be disabled.
//!
//! # The agreement
//!
//! TLS protects the negotiation too. Both ends name the protocol `bertha/3` (ALPN, RFC 7301), and refuse any
//! other. Behind the handshake each end sends a proof of the
//! [transcript](bertha_core::ConnectContext::transcript): an HMAC of its role under a key that both ends
//! export from TLS (section 7.5) for this transcript. A connection exists once both proofs were checked, so
//! if an attacker has altered the agreement, even without credentials, both ends refuse with
//! [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) before any data. A server without client
//! certificates can't distinguish the attacker itself from a client. Another exported key protects the
//! messages about the connection.
//!
//! Wrapped without negotiation, there is no proof: the other end may be any program that speaks TLS with this
//! protocol and these lengths. A server's refusal of a client then arrives with the first `recv`.
//!
//! # Format
//!
//! Each message stands behind its length in four bytes, big-endian, within the stream of TLS. The bounds of messages, records and the
//! messages of the connection below are independent; a burst becomes as few records as it fits. Messages have at most 1 MiB.
//!
//! # Identities and sessions
//!
//! See [`certificates`](crate::certificates). TLS 1.2 and early data are off. Handshakes fail after ten seconds.

mod chunnel;
mod connection;
mod lingering;
mod machine;
#[cfg(feature = "rpc")]
mod parts;
mod pieces;
mod start;
mod statistics;
#[cfg(feature = "tls-streams")]
mod stream;
#[cfg(test)]
mod tests;

pub use chunnel::Tls;
pub use connection::TlsConnection;
#[cfg(feature = "rpc")]
pub(crate) use parts::Parts;
pub use statistics::TlsStatistics;

/// The target of the events for `tracing`.
const TARGET: &str = "bertha::tls";

/// The largest message, in bytes, unless [`Tls::largest`] says otherwise.
pub const LARGEST: usize = 1 << 20;
