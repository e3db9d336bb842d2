//! Short messages that travel together.
//!
//! [`Batch`] collects the messages of several `send`s and sends them as one, once they fill it or the first has waited long
//! enough: Nagle's idea (RFC 896) with bounds on size and time instead of an acknowledgement. The receiver takes them apart
//! without a copy. Fewer, larger messages below cost less where each has a price: a system call, a packet, a request to a
//! cloud service.
//!
//! ```
//! use bertha_chunnels::Batch;
//! use std::time::Duration;
//!
//! let batch = Batch::new().bytes(8_000).wait(Duration::from_micros(200));
//! ```
//!
//! Order and what the connection below promises are kept; messages that travel together are lost together.

mod chunnel;
mod connection;
mod filling;
mod frame;
mod task;

pub use chunnel::Batch;
pub use connection::BatchConnection;
