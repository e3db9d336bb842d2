//! Messages that arrive at most once, over a connection that may repeat them.
//!
//! [`AtMostOnce`] numbers messages, eight bytes each, and drops what comes a second time. It sends nothing again, waits for
//! nothing and keeps no message: where nothing may be lost either, use [`Reliable`](crate::Reliable), which drops
//! duplicates as well.
//!
//! The receiver remembers the last 4,096 numbers. A message that is overtaken by that many others is dropped, since nobody
//! can tell any more whether it is new.

mod chunnel;
mod connection;
#[cfg(test)]
mod tests;
mod window;

pub use chunnel::AtMostOnce;
pub use connection::AtMostOnceConnection;
