//! Messages that arrive at most once, over a connection that may repeat them.
//!
//! [`AtMostOnce`] numbers messages, with eight bytes each, and drops repeated messages. It repeats nothing,
//! waits for nothing and keeps no message. Where no message may be lost either, use
//! [`Reliable`](crate::Reliable), which drops duplicates as well.
//!
//! The receiver remembers at least the last 4,033 numbers. A message that arrives later is dropped, since it
//! can no longer be distinguished from a duplicate.
//!
//! # Over queues
//!
//! [`AtMostOnce`] is for two ends. Messages of a topic may have several publishers, which use equal numbers,
//! and continue while receivers come and go. [`AtMostOnceByPublisher`] names the publisher beside the number,
//! sixteen bytes in all, and has a memory that can [survive a restart](AtMostOnceByPublisher::remembering): a
//! service delivers a message again if its receiver took it and was killed before it acknowledged it.
//!
//! ```
//! # fn main() -> Result<(), bertha_core::Error> {
//! # let folder = std::env::temp_dir();
//! # let path = folder.join(format!("bertha-example-{}.taken", std::process::id()));
//! use bertha_chunnels::AtMostOnceByPublisher;
//! use bertha_chunnels::at_most_once::FileMemory;
//! use std::sync::Arc;
//!
//! let once = AtMostOnceByPublisher::new();
//! let once_whatever_happens = AtMostOnceByPublisher::new().remembering(Arc::new(FileMemory::open(&path)?));
//! # drop(once_whatever_happens);
//! # std::fs::remove_file(path).unwrap();
//! # Ok(())
//! # }
//! ```

mod by_publisher;
mod chunnel;
mod connection;
mod statistics;
#[cfg(test)]
mod tests;

pub use by_publisher::{AtMostOnceByPublisher, ByPublisherConnection, FileMemory, Memory, MessageId};
pub use chunnel::AtMostOnce;
pub use connection::AtMostOnceConnection;
pub use statistics::AtMostOnceStatistics;
