//! gRPC: callers and servers that are no applications of a daemon, over HTTP/2, with messages in protobuf.
//!
//! ```text
//!  stranger ── HTTP/2 ──▶ ingress ──▶ party ──▶ engines ──▶ server of this machine
//!  caller of this machine ──▶ engines ──▶ party ──▶ egress ── HTTP/2 ──▶ stranger
//! ```
//!
//! Messages are decoded into frames, as another daemon sends them, and encoded from such. The formats follow the document
//! [gRPC over HTTP2](https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md), and are in `formats`: `message` has lengths, `status`
//! codes and texts, `time` deadlines, `trace` traces. In `fairness`, `turns` is a socket that leaves time to others, by the `turnstile` of
//! its peer, and `credit` bounds what is no call. Methods with streams of messages, and messages that are compressed, are unimplemented.

mod egress;
mod fairness;
mod formats;
mod ingress;
mod pending;
pub mod testing;

pub(crate) use egress::call;
pub(crate) use ingress::listen;
