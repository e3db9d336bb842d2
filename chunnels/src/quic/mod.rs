//! Messages over QUIC (RFC 9000): reliable, in order, encrypted, from a peer that has shown a certificate.
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
//! # What it promises
//!
//! Every message arrives, once, in order and undamaged, or the connection fails; nobody on the way can read or change one. A
//! client knows that the server is the one that it [expects](Certificates::expecting); a server knows who its client is only if it
//! [trusts](Certificates::trusting) somebody, and then lets nobody else in. There is no way to leave the check of the server out.
//!
//! What the ends said to agree on this stack is a part of what TLS protects: the
//! [transcript](bertha_core::ConnectContext::transcript) stands in the name of the protocol (ALPN, RFC 7301). If somebody altered it, even without
//! credentials, both ends refuse the connection as [`Unauthenticated`](bertha_core::ErrorKind::Unauthenticated); a server that asks
//! no client for a certificate does so for clients that are not the attacker.
//!
//! # How it works
//!
//! Each end opens a stream of its own; each message stands behind its length in four bytes, big-endian. Four bytes of ones at
//! the end of a stream say that the next stream continues it: QUIC reports a stream as delivered once it is finished, so a
//! [drain](bertha_core::Connection::drain) finishes one and opens another. TLS 1.3 is that
//! of `rustls` with `ring`. Sockets, tasks and timers of `quinn` are the connection below and its runtime. Up to 256 messages wait
//! in each direction besides those in QUIC's own windows of 4 MiB.
//!
//! It needs datagrams of at least 1,200 bytes, and refuses a stream: there everything would be repeated and put in order twice.
//! A stack that is wrapped without negotiation has no server, so there both ends would wait; negotiate. A driver that gives roles and
//! no transcript has ends that check certificates alone.

mod certificates;
mod chunnel;
mod connection;
pub mod frame;
mod runtime;
mod socket;
mod start;
mod stream;
mod tls;

pub use certificates::Certificates;
pub use chunnel::Quic;
pub use connection::QuicConnection;
