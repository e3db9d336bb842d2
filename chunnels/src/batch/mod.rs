//! Short messages sent together as one message.
//!
//! [`Batch`] collects the messages of several `send`s and sends them as one message, once it is full or its
//! first message has waited long enough: Nagle's idea (RFC 896) with bounds on size and time instead of an
//! acknowledgement. The receiver separates them without a copy. Fewer, larger messages cost less where each
//! message has a price: a system call, a packet, a request to a cloud service.
//!
//! ```
//! use bertha_chunnels::Batch;
//! use std::time::Duration;
//!
//! let batch = Batch::new().bytes(8_000).wait(Duration::from_micros(200));
//! ```
//!
//! Order and the guarantees of the connection below are kept; the messages of one batch are lost together.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`bytes`](Batch::bytes) | 1,300 bytes, at most the largest message below |
//! | [`wait`](Batch::wait) | 1 millisecond |
//! | batches that wait below | 16, fixed |

mod chunnel;
mod connection;
mod filling;
mod frame;
mod statistics;

pub use chunnel::Batch;
pub use connection::BatchConnection;
pub use statistics::BatchStatistics;
