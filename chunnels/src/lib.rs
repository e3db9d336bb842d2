//! The standard Chunnels, each in a module and behind a feature of its own.
//!
//! | feature | Chunnels | function |
//! |---|---|---|
//! | `nothing` | [`Nothing`] | nothing: stands in a stack where a Chunnel is optional |
//! | `serialize` | [`Serialize`] | turns typed messages into bytes, with a codec: feature `postcard` (the default codec), `bincode`, `cbor`, `messagepack` or `json` |
//! | `shard` | [`ClientShard`], [`ServerShard`], [`KernelShard`], [`ShardRaw`](shard::ShardRaw) | send each message to the shard of its key |
//! | `reliable` | [`Reliable`] | delivers every message, once and undamaged, with [congestion control](congestion) |
//! | `retry` | [`Retry`] | sends requests again until their replies arrive |
//! | `ordered` | [`Ordered`], [`OrderedByKey`], [`ServiceOrdered`] | deliver messages in the order in which they were sent |
//! | `total-order` | [`ReceiverOrdered`], [`SequencerOrdered`] | give all participants of a connection the same order |
//! | `at-most-once` | [`AtMostOnce`], [`AtMostOnceByPublisher`] | drop duplicates |
//! | `fragment` | [`Fragment`] | splits messages that are too large for the layers below |
//! | `batch` | [`Batch`] | sends short messages together |
//! | `bytes` | [`Bytes`] | carries a stream of bytes over messages |
//! | `framing` | [`LengthFramed`], [`LineFramed`], [`Framed`] | carry messages over a stream of bytes |
//! | `codec` | `CodecFramed` | carries messages over a stream of bytes in a format of `tokio_util::codec` |
//! | `nagle` | [`Nagle`] | sends and receives messages of any type in bursts |
//! | `checksum` | [`Checksum`] | drops damaged messages |
//! | `compress` | `Compress` | compresses messages |
//! | `pace` | [`Pace`] | sends at a bounded rate |
//! | `metrics` | [`Metrics`] | counts messages, bytes and errors, and measures the latency of sending |
//! | `rpc` | [`Rpc`], `RpcWithTls` (with `tls`) | carry calls and their responses, for [`rpc::Client`] and [`rpc::serve`](rpc::serve()) |
//! | `quic` | `Quic` | runs over QUIC: reliable, ordered, encrypted, authenticated by certificates |
//! | `tls` | `Tls` | runs over TLS 1.3 above any reliable and ordered connection: encrypted, authenticated by certificates or raw public keys |
//! | `tls-streams` | | no Chunnel: `Tls` for the streams of protocols that are not Bertha's |
//! | `noise` | `Noise` | encrypts and authenticates messages, with a key that both ends share or with static keys of the ends |
//! | `qlog` | | no Chunnel: a qlog of each connection of [`Reliable`] |
//! | `quinn` | | no Chunnel: the [congestion controls](congestion) for connections of the crate `quinn` |
//! | `fault` | `Fault` | loses, duplicates, delays and reorders messages, from a seed |
//!
//! Over a datagram datapath, `make_stack!(Ordered::new(), Fragment::new(), Reliable::new())` has the guarantees of TCP, with messages
//! instead of a stream.
//!
//! All features but `bincode`, `cbor`, `codec`, `compress`, `json`, `messagepack`, `qlog`, `quic`, `quinn`, `noise`, `tls`, `tls-streams` and
//! `fault` are on by default.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

// The services of `rpc` are made by the macro for crates that depend on this crate.
#[cfg(feature = "rpc")]
extern crate self as bertha_chunnels;

#[cfg(any(feature = "framing", feature = "tls"))]
mod arrived;
#[cfg(feature = "at-most-once")]
pub mod at_most_once;
#[cfg(feature = "batch")]
pub mod batch;
#[cfg(any(
    feature = "at-most-once",
    feature = "checksum",
    feature = "compress",
    feature = "fragment",
    feature = "noise",
    feature = "rpc",
    feature = "serialize",
    feature = "total-order"
))]
mod burst;
#[cfg(feature = "bytes")]
pub mod bytes;
#[cfg(any(feature = "quic", feature = "tls"))]
pub mod certificates;
#[cfg(feature = "checksum")]
pub mod checksum;
#[cfg(feature = "compress")]
pub mod compress;
#[cfg(any(feature = "quinn", feature = "reliable"))]
pub mod congestion;
#[cfg(feature = "fault")]
pub mod fault;
#[cfg(feature = "fragment")]
pub mod fragment;
#[cfg(feature = "framing")]
pub mod framing;
#[cfg(any(feature = "batch", feature = "nagle"))]
mod gathering;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "nagle")]
pub mod nagle;
#[cfg(feature = "noise")]
pub mod noise;
#[cfg(feature = "nothing")]
pub mod nothing;
#[cfg(feature = "ordered")]
pub mod order;
#[cfg(feature = "pace")]
pub mod pace;
#[cfg(feature = "quic")]
pub mod quic;
#[cfg(any(feature = "at-most-once", feature = "ordered"))]
mod redelivery;
#[cfg(feature = "reliable")]
pub mod reliable;
#[cfg(feature = "retry")]
pub mod retry;
#[cfg(feature = "rpc")]
pub mod rpc;
#[cfg(feature = "serialize")]
pub mod serialize;
#[cfg(feature = "shard")]
pub mod shard;
#[cfg(any(
    feature = "batch",
    feature = "fault",
    feature = "nagle",
    feature = "quic",
    feature = "reliable",
    feature = "rpc"
))]
mod task_end;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "total-order")]
pub mod total_order;

#[cfg(feature = "at-most-once")]
pub use at_most_once::{AtMostOnce, AtMostOnceByPublisher};
#[cfg(feature = "batch")]
pub use batch::Batch;
#[cfg(feature = "bytes")]
pub use bytes::Bytes;
#[cfg(any(feature = "quic", feature = "tls"))]
pub use certificates::{TlsIdentity, Trust};
#[cfg(feature = "checksum")]
pub use checksum::Checksum;
#[cfg(feature = "compress")]
pub use compress::Compress;
#[cfg(feature = "fault")]
pub use fault::Fault;
#[cfg(feature = "fragment")]
pub use fragment::Fragment;
#[cfg(feature = "codec")]
pub use framing::CodecFramed;
#[cfg(feature = "framing")]
pub use framing::{Framed, LengthFramed, LineFramed};
#[cfg(feature = "metrics")]
pub use metrics::Metrics;
#[cfg(feature = "nagle")]
pub use nagle::Nagle;
#[cfg(feature = "noise")]
pub use noise::{Noise, NoiseKey};
#[cfg(feature = "nothing")]
pub use nothing::Nothing;
#[cfg(feature = "ordered")]
pub use order::{Ordered, OrderedByKey, ServiceOrdered};
#[cfg(feature = "pace")]
pub use pace::Pace;
#[cfg(feature = "quic")]
pub use quic::Quic;
#[cfg(feature = "reliable")]
pub use reliable::Reliable;
#[cfg(feature = "retry")]
pub use retry::Retry;
#[cfg(feature = "rpc")]
pub use rpc::Rpc;
#[cfg(feature = "serialize")]
pub use serialize::{Bincode, Cbor, Codec, Json, MessagePack, Postcard, Serialize};
#[cfg(feature = "shard")]
pub use shard::{ClientShard, KernelShard, Keyed, LocalShards, ServerShard, ShardMap};
#[cfg(feature = "tls")]
pub use tls::Tls;
#[cfg(feature = "total-order")]
pub use total_order::{ReceiverOrdered, SequencerOrdered};
