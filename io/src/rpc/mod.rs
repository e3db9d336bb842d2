//! Calls of `bertha_chunnels::rpc` as services of tower's, and back.
//!
//! tower's layers stand between a typed client and the connections: balancing, time-outs, limits, hedging, retries.
//!
//! ```text
//! Client::over(ServiceCaller::new(Buffer::new(Balance::new(discover), 1024)))
//!     discover: for each address PendingRequests(Ejecting(CallService(Reconnecting)))
//! ```
//!
//! tower's `Balance` picks the less loaded one of two at random by the requests in flight, which `PendingRequests` counts. An address
//! that fails at once has few of them, and would draw all calls: [`Ejecting`] takes it out for a while.

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
