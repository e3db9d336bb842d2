//! Requests and responses: calls of the functions of another process.
//!
//! [`Rpc`] is the Chunnel, over any connection that is reliable and delivers at most once; order is not needed. A [`Client`] makes
//! calls over its connection, thousands at a time, and [`serve`](serve()) answers them with a [`Service`]:
//!
//! ```
//! use bertha_chunnels::rpc::{Client, Method, handler, serve};
//! use bertha_chunnels::{Reliable, Rpc};
//! use bertha_core::{Connection, Error, Wrap, make_stack};
//! use std::time::Duration;
//!
//! const LENGTH: Method = Method::new("length").idempotent();
//!
//! async fn client(udp: impl Connection<Data = bertha_core::Buf>) -> Result<(), Box<dyn std::error::Error>> {
//!     let client = Client::new(make_stack!(Rpc::new(), Reliable::new()).wrap(udp).await?);
//!     let length: u64 = client.call(LENGTH, &"hello".to_owned()).deadline(Duration::from_secs(1)).await?;
//!     assert_eq!(length, 5);
//!     Ok(())
//! }
//!
//! async fn server(udp: impl Connection<Data = bertha_core::Buf>) -> Result<(), Error> {
//!     let connection = make_stack!(Rpc::new(), Reliable::new()).wrap(udp).await?;
//!     serve(connection, handler(LENGTH, async |text: String| Ok(text.len() as u64))).await
//! }
//! ```
//!
//! `#[bertha::service]` makes typed clients and servers of a trait.
//!
//! # Outcomes
//!
//! A call has one outcome: its response, or a [`Failure`], which says whether the server [may have run](Failure::may_have_run) it: so it is for
//! every call whose handler has begun. A handler that panics fails its own call alone. A call that the server refuses for lack of room is made
//! again once there is room. Any other call is repeated by [`Reconnecting`] alone, if it did not run or its method is
//! [idempotent](Method::idempotent).
//!
//! # Deadlines and cancellation
//!
//! A call with a deadline fails once that has passed by the clock of the connection's runtime. The server learns how long the client
//! waits, and drops the handler of a call whose deadline has passed. So it does if the client drops the future of a call, and with it
//! its slot: cancellations are sent at once.
//!
//! # Who calls
//!
//! A handler that asks for its [`Context`] learns the identity that the peer has proved to the connection, the caller's
//! [`Metadata`], and the deadline. So each call can be authorised; a call that is not permitted fails with
//! [`Denied`](FailureKind::Denied). A caller adds metadata by [`Call::metadata`], or by [`Client::metadata`] to each of its
//! calls. A handler gives metadata back by [`Context::add_trailer`]: with the response
//! ([`Call::response_and_trailers`]), with the end of a stream ([`Responses::trailers`]), or with the failure
//! ([`Failure::trailers`]). A service that does not ask for contexts pays nothing for them.
//!
//! # Streams of requests
//!
//! A method may take a stream of [`Requests`] behind its first request, and answer with one response or with a stream of
//! them: [`Call::requests`] makes such a call. The server grants requests as the handler takes them, and none before the
//! call has arrived, so the first request leaves after a round trip. A handler that drops its requests makes the client
//! drop its stream, and the call goes on. If the stream of the client panics, the call fails. Such a call is never
//! repeated, and a call that is refused for lack of room fails with [`Overloaded`](FailureKind::Overloaded).
//!
//! # Several services
//!
//! [`Service::or`] makes one service of two, and [`Service::methods`] tells the methods of a service. [`Health`] and
//! [`Reflection`] are services for use beside those of the application: which services a server has, and which of them
//! serve.
//!
//! # The end of a server
//!
//! A [`Shutdown`] tells the clients of all connections that are [served until](Serve::until) it. A client then makes no
//! further calls over its connection, and closes after its last call under way; a [`Reconnecting`] client makes later
//! calls over a new connection. Calls that cross the news fail with [`Unavailable`](FailureKind::Unavailable) and have not
//! run. Calls that outlast the grace are cancelled, fail with the same kind, and may have run.
//!
//! # Bounds
//!
//! | bound | default | beyond |
//! |---|---|---|
//! | calls of a client under way ([`Multiplexer::with_limit`]) | 1,024 | callers wait for room, in turn and up to their deadlines |
//! | calls of a connection at the server ([`Serve::concurrency`]) | 1,024 | the client learns the limit, and callers wait as above |
//! | responses of a stream that were not taken | 64 | the server makes no more; a response beyond is dropped, counted, and fails the stream |
//! | bytes of such responses, and of single responses of 4 KiB or more, all clients of the process together ([`Multiplexer::waiting_with`]) | 1 GiB, and beyond it one response of each call | the stream of a further response fails with [`Overloaded`](FailureKind::Overloaded), and its responses are dropped; others go on |
//! | messages to a client that belong to no call | none | dropped and counted ([`Multiplexer::unexpected`]) |
//! | requests of a stream that the handler has not taken | 64, or as many as take an eighth of the room for bytes below | the client makes no more; a request beyond is dropped, counted, and fails the stream. All calls of a connection together may hold 64 requests each |
//! | bytes of such requests, and of the first of each stream, all streams of a connection together ([`Serve::waiting_bytes`]) | 256 MiB | the stream of the request that exceeds them fails with [`Overloaded`](FailureKind::Overloaded); others go on |
//! | the same, all connections of the process together ([`Serve::waiting_with`]) | 1 GiB | as above |
//! | requests or responses of one stream | 4,294,967,232 | the stream goes no further |
//! | answers that a client does not read | two bursts of 256 answers or 256 KiB | the server makes no more; deadlines and cancellations go on |
//! | time of calls under way at the end of a server ([`Shutdown::begin`]) | set by the caller | the calls are cancelled; a client that reads nothing is dropped a second later |
//! | a request or response, with its metadata | the largest message below | [`TooLarge`](FailureKind::TooLarge) |
//! | metadata of a call, and trailers | 64 entries, 8 KiB | [`TooLarge`](FailureKind::TooLarge), before anything is sent |
//!
//! # Statistics
//!
//! [`Multiplexer::statistics`] tells the calls of a client, and [`ServedCalls`], to which a server may [count](Serve::counted_by) the calls
//! of all its connections, those of a server.
//!
//! # Traces
//!
//! With the feature `opentelemetry` each call is a span of `tracing`, with the target `bertha::rpc`: `rpc.call` at the client, from the
//! call to its response, with the method's name in `rpc.method`; `rpc.handle` at the server, while the service answers, with the method's
//! number in `rpc.method_id`. A program whose subscriber has the layer of `tracing-opentelemetry` sees them in one trace, across
//! processes: the trace of the client's span (`traceparent` of W3C Trace Context, without `tracestate`) goes with the call, in 25 bytes
//! more. A client of a server so chooses the trace in which its spans appear. Spans of streams end when the stream begins.
//!
//! # On the wire
//!
//! A header of 8 to 16 bytes, and of 41 with a trace, in front of each message, in its headroom: the kind, the number of the call, and for a call its method
//! and the milliseconds that the client waits. Metadata stands in front of the request or response; a call without metadata
//! has none of its bytes. A stream of requests has the kinds of a stream of responses, sent by the client; a cancellation
//! by the server ends it. Requests and responses are encoded by a
//! [`Codec`]; the default codec is [`Postcard`]. A program with another codec gives the codec to the [client](Client::codec), to the
//! service, and, for the two ends to compare it, to [`Rpc::codec`].
//!
//! # Calls of bytes
//!
//! A service or a client in another language has a codec that both languages have: `Cbor`, `MessagePack` or `Json`, by the features of these names, see
//! [`serialize`](crate::serialize#codecs-that-other-languages-have). A binding for such a language has its requests and responses as bytes
//! that were encoded there. It names their format by [`Rpc::encoding`], and the method by [`Method::named`]; the bytes pass unchanged:
//!
//! * A client gives them to its [`Multiplexer`], which is a [`Caller`]: `[u8]` is an [`Encode`], and the response is a `Buf`.
//! * A request to a method of `#[bertha::service]` is the array of its arguments, without streams of requests (null, if there are none), and
//!   the method's name is that of trait and function, as in `Words.count`. A [`handler`] takes a single value, of any type.
//! * A server is a [`Service`] that takes [`Request::into_body`], and whose responses are bytes, which
//!   [`Service::encode`] copies by [`Encode::encode`].
//!
//! # Over TLS
//!
//! With the feature `tls`, the pass `FuseRpcAndTls` makes one Chunnel, `RpcWithTls`, of [`Rpc`] directly above `Tls`. It
//! has their wire format, so peers may have them apart, and writes calls that are made together straight into common records.

mod about;
mod call_codec;
mod chunnel;
mod client;
mod connection;
mod decoding;
mod encode;
mod failure;
mod health;
mod message;
mod metadata;
mod method;
mod parts;
mod reflection;
mod server;
#[doc(hidden)]
pub mod spans;
mod trace;
mod transient;
mod waiting_bytes;
mod wire;
#[cfg(feature = "tls")]
mod with_tls;

pub use crate::serialize::{Bincode, Cbor, Codec, Json, MessagePack, Postcard};
pub use about::MessageKind;
pub use chunnel::Rpc;
pub use client::{
    Answer, Call, CallStatistics, CallWithRequests, Caller, Client, MultiplexedParts, Multiplexer,
    Reconnecting, ResponseParts, Responses,
};
pub use connection::RpcConnection;
pub use encode::{Encode, Encoded, decode, encode};
pub use failure::{Failure, FailureKind};
#[doc(hidden)]
pub use futures_util::Stream;
pub use health::{Health, HealthClient, ServingStatus};
pub use message::{CallId, Message};
pub use metadata::Metadata;
pub use method::Method;
pub use reflection::{MethodDescription, Reflection, ReflectionClient};
#[doc(hidden)]
pub use server::Responding;
pub use server::{
    Context, Handler, Or, Reply, Request, Requests, Serve, ServeStatistics, ServedCalls, Service, Shutdown,
    handler, handler_with_context, serve,
};
pub use trace::{NoTrace, Trace};
pub use waiting_bytes::WaitingBytes;
#[cfg(feature = "tls")]
pub use with_tls::{FuseRpcAndTls, RpcWithTls, RpcWithTlsConnection};

/// The reason for which either end drops a message, in the report of drops.
const OF_NO_CALL: &str = "of no call";
