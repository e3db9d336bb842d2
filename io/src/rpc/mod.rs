//! Calls of `bertha_chunnels::rpc` as services of tower, and services of tower as calls.
//!
//! Layers of tower stand between a typed client and the connections: balancing, time-outs, limits, hedging,
//! retries.
//!
//! ```text
//! Client::over(ServiceCaller::new(Buffer::new(Balance::new(discover), 1024)))
//!     discover: for each address PendingRequests(Ejecting(CallService(Reconnecting)))
//! ```
//!
//! `Balance` of tower picks the less loaded of two random services by the requests in flight, which
//! `PendingRequests` counts. An address that fails at once has few of them, and would draw all calls:
//! [`Ejecting`] takes it out for a while.
//!
//! # Hedging
//!
//! A call that takes longer than most calls is made once more, and the first answer counts; the other call is
//! cancelled at its server. `Hedge` of tower asks a policy which calls may run twice:
//!
//! ```no_run
//! use bertha_chunnels::Rpc;
//! use bertha_chunnels::rpc::{Client, Method, Multiplexer, handler, serve};
//! use bertha_core::{Wrap, make_stack};
//! use bertha_io::rpc::{CallService, EncodedCall, ServiceCaller};
//! # use bertha_runtime::tokio::TokioRuntime;
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
//! use std::time::Duration;
//! use tower::buffer::Buffer;
//! use tower::hedge::{Hedge, Policy};
//!
//! const LENGTH: Method = Method::new("length").idempotent();
//!
//! #[derive(Clone)]
//! struct Idempotent;
//!
//! impl Policy<EncodedCall> for Idempotent {
//!     fn clone_request(&self, call: &EncodedCall) -> Option<EncodedCall> {
//!         call.method().is_idempotent().then(|| call.clone())
//!     }
//!
//!     fn can_retry(&self, _: &EncodedCall) -> bool {
//!         true
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (client, server) = bertha_datapath_sim::pair(TokioRuntime);
//! // A server that never answers every twentieth call.
//! let runs = Arc::new(AtomicUsize::new(0));
//! let counted = runs.clone();
//! let length = handler(LENGTH, move |text: String| {
//!     let is_lost = counted.fetch_add(1, Relaxed) % 20 == 19;
//!     async move {
//!         if is_lost {
//!             std::future::pending::<()>().await;
//!         }
//!         Ok(text.len() as u64)
//!     }
//! });
//! tokio::spawn(serve(make_stack!(Rpc::new()).wrap(server).await?, length).into_future());
//!
//! let calls = CallService::new(Multiplexer::new(make_stack!(Rpc::new()).wrap(client).await?));
//! // A call is made again if it takes longer than 95 % of the calls in the ten seconds before, at least ten.
//! let hedge = Hedge::new(calls, Idempotent, 10, 0.95, Duration::from_secs(10));
//! let client = Client::over(ServiceCaller::new(Buffer::new(hedge, 1024)));
//! for _ in 0..100 {
//!     assert_eq!(client.call::<String, u64>(LENGTH, &"hello".to_owned()).await?, 5);
//! }
//! assert!(runs.load(Relaxed) > 100);
//! # Ok(())
//! # }
//! ```

mod call;
mod call_service;
mod ejecting;
mod ejection;
mod service_caller;
mod service_server;

pub use call::EncodedCall;
pub use call_service::CallService;
pub use ejecting::Ejecting;
pub use service_caller::{NoParts, ServiceCaller};
pub use service_server::{EncodedRequest, ServiceServer};
