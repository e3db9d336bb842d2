//! Engines in a stack: policies on the calls of one application, without the daemon.
//!
//! [`Policies`] stands above [`Rpc`](bertha_chunnels::Rpc), below the client or the server of the calls, and at either end or at both. It
//! changes nothing on the wire, and the peer need not have it. A request that an engine refuses ends where it is: at the client nothing
//! is sent, and at the server the caller gets the failure and no handler begins.
//!
//! ```text
//!  Client ──calls──▶  Policies: [acl] [limit]  ──▶  Rpc  ──▶  Reliable  ──▶
//! ```
//!
//! The Chunnel carries the messages of `Rpc`, and not bytes: a stack that has it at a place where it would see no calls does not compile, and
//! `Rpc` may be fused with `Tls`.
//!
//! # Example
//! ```
//! use bertha_chunnels::Rpc;
//! use bertha_chunnels::rpc::{Client, Codec, FailureKind, Method, handler, serve};
//! use bertha_chunnels::serialize::Anywhere;
//! use bertha_core::{Runtime, Wrap, make_stack};
//! use bertha_managed::Policies;
//! use bertha_managed::engines::{Acl, RateLimit};
//!
//! # /// The file `hotel.proto`, as compilers of protobuf write it.
//! # const HOTEL: &[u8] = b"\n\x82\x01\n\x0bhotel.proto\x12\x05hotel\x22\x1b\n\x07Request\x12\x10\n\x08customer\x18\x01 \x01(\x09\x22\x16\n\x04Room\x12\x0e\n\x06number\x18\x01 \x01(\x042/\n\x05Hotel\x12&\n\x07Reserve\x12\x0e.hotel.Request\x1a\x0b.hotel.Roomb\x06proto3";
//! #
//! /// The format of protobuf, for types of the crate `prost`.
//! #[derive(Clone)]
//! struct Protobuf;
//!
//! impl<T: prost::Message + Default> Codec<T> for Protobuf {
//!     type EncodeError = prost::EncodeError;
//!     type DecodeError = prost::DecodeError;
//!     type Key = Anywhere;
//!
//!     const NAME: &'static str = "protobuf";
//!
//!     fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, prost::EncodeError> {
//!         let length = message.encoded_len();
//!         let Some(mut room) = into.get_mut(..length) else { return Ok(None) };
//!         message.encode(&mut room)?;
//!         Ok(Some(length))
//!     }
//!
//!     fn decode(&self, bytes: &[u8]) -> Result<(T, usize), prost::DecodeError> {
//!         Ok((T::decode(bytes)?, bytes.len()))
//!     }
//! }
//!
//! const RESERVE: Method = Method::new("Hotel.reserve");
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policies = Policies::new(HOTEL, "hotel.Hotel")?
//!     .codec(&Protobuf)
//!     .engine("limit", RateLimit, "per-second=1000 burst=10")?
//!     .engine("acl", Acl, "field=customer deny=Eve")?;
//! let stack = make_stack!(policies.clone(), Rpc::new().codec(&Protobuf));
//! # let (here, there) = bertha_datapath_sim::pair(bertha_runtime::tokio::TokioRuntime);
//! # let serving = handler(RESERVE, async |customer: String| Ok(customer.len() as u64)).codec(Protobuf);
//! # let serving = serve(make_stack!(Rpc::new().codec(&Protobuf)).wrap(there).await?, serving).into_future();
//! # let _server = bertha_runtime::tokio::TokioRuntime.spawn(async { serving.await.unwrap() });
//! let client = Client::new(stack.wrap(here).await?).codec(Protobuf);
//!
//! let room: u64 = client.call(RESERVE, &"Ada".to_owned()).await?;
//! let eve = client.call::<_, u64>(RESERVE, &"Eve".to_owned()).await.unwrap_err();
//! assert_eq!((room, eve.kind()), (3, FailureKind::Denied));
//!
//! // While calls flow:
//! policies.configure("limit", "per-second=2000".parse()?)?;
//! policies.remove("acl")?;
//! # client.call::<_, u64>(RESERVE, &"Eve".to_owned()).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Connections
//!
//! Each connection has engines of its own, so a limit holds for each peer; a change is one of all connections. A call has the method that
//! its number names, and a method that the schema lacks is refused, unless [`other_methods`](Policies::other_methods) lets it pass.
//! Engines that read fields of requests need a codec of the name `protobuf`; where the codec is another, they are refused when they are
//! added. Of calls with streams, engines see the first request and the end.
//!
//! A call that is given up while an engine holds it goes no further, and neither does one whose deadline has passed. The server is told the
//! time that is left to a call that was held. When the connection is drained or closed, calls that are held go on.
//!
//! # Bounds
//!
//! | bound | default | beyond |
//! |---|---|---|
//! | calls of a connection under way ([`Policies::calls`]) | 5,120 | a call fails as overloaded, and no engine sees it |
//! | bytes of calls that engines hold, with their copies, all connections together ([`Policies::held_bytes`]) | 64 MiB | the same |
//! | refusals that a client does not read | 64 | the server reads no further messages of it |
//! | refusals that the application's client does not take | 1,024 | `send` waits |
//! | calls that come twice, or after the next call in their place | none | dropped and counted |

mod chunnel;
mod connection;
mod flow;
mod held_bytes;
mod methods;
mod shared;
mod state;
mod statistics;
mod task;
#[cfg(test)]
mod tests;
mod under_way;

pub use chunnel::Policies;
pub use connection::PoliciesConnection;
pub use statistics::PoliciesStatistics;
