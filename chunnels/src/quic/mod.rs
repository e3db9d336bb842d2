//! Messages over QUIC (RFC 9000): reliable, ordered, encrypted and authenticated by certificates.
//!
//! [`Quic`] runs the QUIC of the `quinn` crate over any connection that carries datagrams. It carries the same messages as
//! [`Reliable`](crate::Reliable), so that the two ends can agree on either:
//!
//! ```
//! use bertha_chunnels::quic::Certificates;
//! use bertha_chunnels::{Quic, Reliable};
//! use bertha_core::{make_stack, select};
//!
//! # let authority = Vec::new();
//! let certificates = Certificates::none().trusting(authority).expecting("store.example");
//! let stack = make_stack!(select!(Quic::new(certificates), Reliable::new()));
//! ```
//!
//! # Guarantees
//!
//! Every message arrives, once, in order and undamaged, or the connection fails; no message can be read or changed on its way. The
//! client authenticates the server that it [expects](Certificates::expecting). A server that
//! [trusts](Certificates::trusting) certificates authenticates its clients and refuses all others. The check of the server can't
//! be disabled.
//!
//! TLS also protects the negotiation: the [transcript](bertha_core::ConnectContext::transcript) is a part of the name of the
//! protocol (ALPN, RFC 7301). If it was altered on its way, even without credentials, both ends refuse the connection as
//! [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated). A server without client certificates can't tell the attacker itself
//! from a client.
//!
//! # How it works
//!
//! Each end opens a stream of its own; each message stands behind its length in four bytes, big-endian. Four bytes of ones at
//! the end of a stream say that the next stream continues it: QUIC reports a stream as delivered once it is finished, so a
//! [drain](bertha_core::Connection::drain) finishes one and opens another. TLS 1.3 is that
//! of `rustls` with `ring`. Sockets, tasks and timers of `quinn` are the connection below and its runtime. Up to 256 messages wait
//! in each direction besides those in QUIC's own windows of 4 MiB.
//!
//! It needs datagrams of at least 1,200 bytes, and refuses a stream, over which messages would be repeated and ordered twice.
//! It needs the roles of a negotiation: wrapped without one, both ends are clients and wait. Without a transcript the ends check
//! certificates alone.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`packet`](Quic::packet) | 1,352 bytes |
//! | [`idle_timeout`](Quic::idle_timeout) | 30 seconds |
//! | queued messages each way | 256, fixed |
//! | largest message | 64 KiB, fixed |

mod certificates;
mod chunnel;
mod connection;
pub mod frame;
mod runtime;
mod settings;
mod socket;
mod start;
mod stream;
mod tls;

pub use certificates::Certificates;
pub use chunnel::Quic;
pub use connection::QuicConnection;
