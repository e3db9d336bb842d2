//! Say *which* network functions a connection needs; the two ends agree, when they connect, on *which implementations*
//! provide them.
//!
//! A **Chunnel** is one communication function: serialise, shard, order. An application writes a stack of them, top
//! first, with alternatives where it has no preference of its own, and calls `connect` or `listen`. The two ends
//! negotiate a stack that both can run, in one round trip. What a stack costs is decided while compiling: layers that
//! only pass messages on cost nothing.
//!
//! # An echo, from both ends
//!
//! ```
//! use bertha::chunnels::Serialize;
//! use bertha::prelude::*;
//!
//! #[bertha::main]
//! async fn main() -> Result<(), bertha::Error> {
//!     // Both ends state their stack; here it turns strings into bytes.
//!     let stack = || make_stack!(Serialize::<String>::new());
//!
//!     // The server: each client gets a task of its own.
//!     let mut incoming = stack().listen(bertha::datapath(), "127.0.0.1:0").await?;
//!     let server = incoming.local_addr();
//!     bertha::spawn(async move {
//!         while let Some(client) = incoming.next().await {
//!             bertha::spawn(echo(client));
//!         }
//!     });
//!
//!     // The client.
//!     let connection = stack().connect(bertha::datapath(), server).await?;
//!     connection.send("hello".into()).await?;
//!     assert_eq!(connection.recv().await?, "hello");
//!     assert_eq!(connection.explain().to_string(), "Serialize[postcard], agreed as client");
//!     connection.close().await
//! }
//!
//! /// Sends each message back. Not every error ends the connection.
//! async fn echo(client: impl Connection<Data = String>) {
//!     loop {
//!         let answered = match client.recv().await {
//!             Ok(message) => client.send(message).await,
//!             Err(error) => Err(error),
//!         };
//!         if answered.is_err_and(|error| error.ends_connection()) {
//!             break;
//!         }
//!     }
//! }
//! ```
//!
//! # Where to read on
//!
//! * The guides: `guide::cookbook`, whole programs (with the features `tls`, `quic`, `tower` and `queue`), [composing](guide::composing) stacks,
//!   [errors](guide::errors) and the reactions to them, [observing](guide::observing) connections, [names](guide::names), [choosing a
//!   datapath](guide::datapaths), `guide::security` (with the features `tls` and `noise`); writing a
//!   [Chunnel](guide::chunnel), a [datapath](guide::datapath), a [pass](guide::pass).
//! * The methods of a stack: [`Negotiate`], [`Rendezvous`] and, without negotiation, [`Wrap`]. The promises
//!   of a connection under loss, cancellation and backpressure: [`Connection`].
//! * The standard Chunnels: [`chunnels`]. The settings and their defaults: [`Settings`].
//!
//! # Features
//!
//! | feature | default | function |
//! |---|---|---|
//! | `datapath-kernel` | yes | UDP, TCP and Unix sockets in [`kernel`]; [`datapath()`] is kernel UDP |
//! | `datapath-dpdk` | no | DPDK ports in `dpdk`, with a network stack in user space; [`datapath()`] is DPDK |
//! | `datapath-caladan` | no | Caladan's green threads and sockets in `caladan`; [`datapath()`] and [`run`](run()) use Caladan |
//! | `datapath-caladan-bridged` | no | Caladan beside tokio, which stays the runtime: only [`datapath()`] uses Caladan |
//! | `datapath-dpdk-tcp` | no | TCP over DPDK ports, for peers that speak TCP: `dpdk::Tcp` |
//! | `shm` | no | memory that two processes of one machine share, in `shm` |
//! | `local` | no | services of one machine find each other, and share memory: `MaybeLocal` in `local` |
//! | `nothing`, `serialize`, `shard` | yes | the Chunnel of that name |
//! | `reliable`, `ordered`, `at-most-once`, `fragment`, `batch`, `nagle` | yes | transport over datagrams; see [`chunnels`] |
//! | `rpc` | yes | requests and responses in [`rpc`], with typed services by [`service`](macro@service) |
//! | `observe` | no | a process shows its connections to `bertha top`: `observe` |
//! | `prometheus` | no | a collector for the crate `prometheus`: `observe::prometheus` |
//! | `ccp` | no | congestion control by an agent in another process, and any control by its name, in `ccp` |
//! | `qlog` | no | a qlog of each connection of `Reliable`, for tools that draw packets and windows |
//! | `opentelemetry` | no | spans of calls of `rpc`, in one trace across processes |
//! | `metrics`, `pace`, `retry` | yes | counting messages, sending at a bounded rate, and repeating requests |
//! | `checksum` | yes | damaged messages are dropped |
//! | `bytes`, `framing` | yes | streams of bytes over messages, and messages over streams of bytes |
//! | `codec` | no | messages in the formats of `tokio_util::codec` |
//! | `io` | no | connections of bytes as `AsyncRead` and `AsyncWrite`, and the reverse, in `io` |
//! | `futures-io`, `stream`, `tower` | no | more traits in `io`: those of `futures`, and tower's `Service` |
//! | `compress` | no | smaller messages, with LZ4 |
//! | `quic` | no | QUIC as a transport that encrypts |
//! | `tls` | no | TLS 1.3 above any stream, with certificates or raw public keys |
//! | `noise` | no | encryption of datagrams, with a shared key or static keys |
//! | `total-order` | yes | one order for all participants of a connection |
//! | `fault` | no | a bad network, for trying stacks out |
//! | `postcard` | yes | the default codec of `Serialize` and `rpc` |
//! | `bincode` | no | a codec with fixed places of fields, for `shard::KeyAt`; the crate `bincode` has no maintainers any more |
//! | `cbor`, `messagepack`, `json` | no | codecs that other languages have, for `Serialize` and `rpc` |
//! | `redis`, `etcd` | no | stores for [`rendezvous`], and etcd for [`names`]; `etcd` needs `protoc` to build |
//! | `store-tls` | no | TLS to the stores that are switched on |
//! | `dns` | no | DNS beyond the names that the system resolves, in [`names`]: services (SRV), and servers of the application's choice |
//! | `queue` | no | topics of messaging services as the bottom of a stack, in `queue`, with a service in memory |
//! | `kafka-tls` | no | TLS and SCRAM for `kafka`, by the OpenSSL of the system |
//! | `nats`, `kafka`, `redis-streams`, `sqs`, `azure-queue`, `google-pubsub` | no | the service of that name; `kafka` builds librdkafka, with a C compiler and `make` |

#![forbid(unsafe_code)]

// The derives name this crate from outside; its own code has to name it in the same way.
extern crate self as bertha;

// All that is re-exported has its page here, so that links lead to pages of this crate, wherever they are built.
#[doc(inline)]
pub use bertha_chunnels as chunnels;
#[doc(inline)]
pub use bertha_core as core;
#[cfg(any(feature = "datapath-caladan", feature = "datapath-caladan-bridged"))]
#[doc(inline)]
pub use bertha_datapath_caladan as caladan;
#[cfg(feature = "datapath-dpdk")]
#[doc(inline)]
pub use bertha_datapath_dpdk as dpdk;
#[cfg(feature = "datapath-kernel")]
#[doc(inline)]
pub use bertha_datapath_kernel as kernel;
#[cfg(feature = "shm")]
#[doc(inline)]
pub use bertha_datapath_shm as shm;
#[cfg(feature = "io")]
#[doc(inline)]
pub use bertha_io as io;
#[cfg(feature = "local")]
#[doc(inline)]
pub use bertha_local as local;
#[doc(inline)]
pub use bertha_negotiation as negotiation;
#[cfg(feature = "observe")]
#[doc(inline)]
pub use bertha_observe as observe;
// The function, beside the module of this name.
#[doc(inline)]
pub use bertha_negotiation::{names, rendezvous};
#[cfg(feature = "observe")]
#[doc(inline)]
pub use bertha_observe::observe;

#[doc(inline)]
pub use bertha_core::{
    Addr, Base, BoxConnection, BoxStack, Buf, Carries, Chunk, Chunnel, ConnectContext, Connection, Datapath,
    Describe, Destination, Error, ErrorKind, Group, Headroom, Mismatch, Name, NumParticipantsAtMost,
    Optimized, OverAnyBase, Pass, PeerIdentity, Policy, Resolver, Role, Runtime, Secured, Situation,
    WithReceipt, Wrap, forward, guarantee, make_stack, optimize, passes, plain_stack, select,
};
#[doc(inline)]
pub use bertha_core::{capability::Capability, identity::Identity};
#[doc(inline)]
pub use bertha_macros::{FacadeCapability as Capability, FacadeIdentity as Identity, facade_subst as subst};
#[doc(inline)]
pub use bertha_negotiation::rendezvous::{MultiEndpoint, Rendezvous, RunsAmong};
#[doc(inline)]
pub use bertha_negotiation::{
    Agreement, BoxedStack, Connect, ConnectEarly, Credentials, Early, EarlyCache, Fallback, IdentityKey,
    Incoming, Interruption, Listen, Negotiate, Negotiated, Overload, Pick, PublicKey, Received, Reconnecting,
    Runs, Settings, SharedKey, Upgradable, ZeroRtt,
};

#[cfg(feature = "ccp")]
pub mod ccp;
#[cfg(feature = "_datapath")]
mod datapath;
pub mod guide;
#[cfg(feature = "queue")]
pub mod queue;
#[cfg(feature = "_datapath")]
mod run;

#[cfg(feature = "rpc")]
#[doc(inline)]
pub use bertha_chunnels::rpc;
#[cfg(feature = "rpc")]
#[doc(inline)]
pub use bertha_macros::facade_service as service;
#[cfg(feature = "_datapath")]
#[doc(inline)]
pub use bertha_macros::main;
#[cfg(feature = "_datapath")]
pub use datapath::{DefaultDatapath, datapath};
#[cfg(feature = "_datapath")]
pub use run::{block_on, not_started, run, sleep, spawn};

/// The traits and macros that an application needs in scope: `use bertha::prelude::*;`. Types, including
/// Chunnels, are imported by name.
///
/// Beside `use tokio::select` the name `select!` is tokio's; write `bertha::select!` then.
pub mod prelude {
    pub use crate::{Connection, Describe, Negotiate, Rendezvous, Runs, Wrap, make_stack, optimize, select};
}

/// Compiles and runs the README's program.
#[cfg(all(
    doctest,
    feature = "datapath-kernel",
    not(feature = "datapath-dpdk"),
    not(feature = "datapath-caladan"),
    not(feature = "datapath-caladan-bridged"),
    feature = "postcard"
))]
#[doc = include_str!("../README.md")]
struct Readme;
