//! Requests that are sent again until their replies arrive, over a connection that may lose, repeat and reorder messages.
//!
//! [`Retry`] belongs to the end that sends requests. It matches replies to requests by the [id](Correlated)
//! that both carry, hands up the first reply to each request, and drops further replies. A request without a
//! reply is sent again after a time-out that follows the round-trip time (RFC 6298), ever more rarely, and is
//! given up after some [attempts](Retry::attempts). A window that grows and shrinks as in RFC 5681 bounds the
//! requests in the network, so that an overloaded server receives fewer requests.
//!
//! ```
//! use bertha_chunnels::retry::Correlated;
//! use bertha_chunnels::{Retry, Serialize};
//! use bertha_core::make_stack;
//! use serde::{Deserialize, Serialize as Encode};
//!
//! #[derive(Clone, Encode, Deserialize)]
//! struct Question {
//!     id: u64,
//!     text: String,
//! }
//!
//! impl Correlated for Question {
//!     fn id(&self) -> u64 {
//!         self.id
//!     }
//! }
//!
//! # fn stack() -> impl bertha_core::Describe {
//! make_stack!(Retry::new(), Serialize::<Question>::new())
//! # }
//! ```
//!
//! The server has no such layer. It may receive a request more than once, so requests have to be idempotent.
//! Where each message has to arrive exactly once, or messages are no replies, use
//! [`Reliable`](crate::Reliable).

mod chunnel;
mod connection;
mod requests;
mod statistics;
mod timeout;
mod window;

pub use chunnel::Retry;
pub use connection::{Correlated, RetryConnection};
pub use requests::{Limits, Requests};
pub use statistics::RetryStatistics;
