//! Messages over QUIC (RFC 9000): reliable, ordered, encrypted and authenticated by certificates or raw public keys (RFC 7250).
//!
//! [`Quic`] runs the QUIC of the `quinn` crate over any connection that carries datagrams. It carries the same messages as
//! [`Reliable`](crate::Reliable), so that the two ends can agree on either:
//!
//! ```
//! use bertha_chunnels::{Quic, Reliable, Trust};
//! use bertha_core::{make_stack, select};
//!
//! # fn example() -> Result<(), bertha_core::Error> {
//! let stack = make_stack!(select!(Quic::client("store.example", Trust::ca_file("ca.pem")?)?, Reliable::new()));
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//!
//! Every message arrives, once, in order and undamaged, or the connection fails; no message can be read or
//! changed on its way, nor later if all long-term keys become known. The client knows the server; the server
//! knows the client if it [requires](Quic::require_clients) an identity, and then guarantees
//! [`PeerIdentified`](bertha_core::guarantee::PeerIdentified) as clients always do. The check of the server
//! can't be disabled.
//!
//! # The agreement
//!
//! TLS protects the negotiation too. Both ends name the protocol `bertha/3` (ALPN, RFC 7301), and refuse any
//! other. Each end begins its stream with a proof of the
//! [transcript](bertha_core::ConnectContext::transcript): an HMAC of its role under a key that both ends
//! export from TLS (RFC 8446, section 7.5) for this transcript. A connection exists once both proofs were
//! checked, so if an attacker has altered the agreement, even without credentials, both ends refuse with
//! [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated) before any data. A server without client
//! certificates can't distinguish the attacker itself from a client. Another exported key protects the
//! messages about the connection.
//!
//! # Identities and sessions
//!
//! See [`certificates`](crate::certificates). Early data is off. Handshakes fail after ten seconds.
//!
//! # Clients that move, and servers that restart
//!
//! As the lowest Chunnel of a server's stack, `Quic` follows a client whose address changes, as behind a NAT that gives it
//! another port: the packets name their connection, and QUIC validates the new address before much goes there (RFC 9000,
//! section 9). The server has to poll its `Incoming`, which takes the first message from
//! the new address. The address that the connection reports stays the first. A stack that is upgradable or boxed does not follow.
//!
//! A server that restarts with the same private key, at the same address, ends the connections of its earlier life by stateless
//! resets (section 10.3), whose tokens are derived from both: its clients get [`Reset`](bertha_core::ErrorKind::Reset) with
//! their next packet.
//!
//! # How it works
//!
//! Each end opens a stream of its own; each message stands behind its length in four bytes, big-endian. Four
//! bytes of ones at the end of a stream say that the next stream continues it: QUIC reports a stream as
//! delivered once it is finished, so a [drain](bertha_core::Connection::drain) finishes a stream and opens
//! another. TLS 1.3 comes from `rustls` with `ring`. Sockets, tasks and timers of `quinn` are the connection
//! below and its runtime. Up to 256 messages wait in each direction besides the messages in QUIC's own
//! windows of 4 MiB.
//!
//! It needs datagrams of at least 1,200 bytes, and refuses a stream, over which messages would be repeated
//! and ordered twice. Wrapped without negotiation, the ends check identities alone.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | congestion control ([`with`](Quic::with)) | the Cubic of `quinn` |
//! | [`packet`](Quic::packet) | 1,352 bytes |
//! | [`idle_timeout`](Quic::idle_timeout) | 30 seconds |
//! | queued messages each way | 256, fixed |
//! | largest message | 64 KiB, fixed |

mod agreement;
mod chunnel;
mod connection;
pub mod frame;
mod ids;
mod live;
mod path;
mod roaming;
mod runtime;
mod settings;
mod socket;
mod start;
mod statistics;
mod stream;
mod tls;

pub use chunnel::Quic;
pub use connection::QuicConnection;
pub use statistics::QuicStatistics;

/// The target of the events for `tracing`.
const TARGET: &str = "bertha::quic";
