//! Messages that arrive at most once, over a connection that may repeat them.
//!
//! [`AtMostOnce`] numbers messages, eight bytes each, and drops those that arrive again. It repeats nothing, waits for
//! nothing and keeps no message. Where no message may be lost either, use [`Reliable`](crate::Reliable), which drops
//! duplicates as well.
//!
//! The receiver remembers at least the last 4,033 numbers. A message that arrives later than that is dropped, since it can no longer
//! be told from a duplicate.

mod chunnel;
mod connection;
#[cfg(test)]
mod tests;

pub use chunnel::AtMostOnce;
pub use connection::AtMostOnceConnection;
