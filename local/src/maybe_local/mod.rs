//! Shared memory to peers of this machine, and the connection below to all others.
//!
//! [`chunnel`]: the configuration. [`meeting`]: how two ends find out, by one message over the connection below and the directory.
//! [`connection`]: the two ways of a message.

mod chunnel;
mod connection;
mod meeting;

pub use chunnel::MaybeLocal;
pub use connection::MaybeLocalConnection;
