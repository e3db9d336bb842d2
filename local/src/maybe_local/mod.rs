//! Shared memory to peers of this machine, and the connection below to all others.
//!
//! [`chunnel`]: the configuration. [`meeting`]: how two ends find out, by messages over the connection below and the directory.
//! [`way`]: what they have found out. [`connection`]: the two ways of a message.

mod chunnel;
mod connection;
mod meeting;
mod statistics;
mod way;

pub use chunnel::MaybeLocal;
pub use connection::MaybeLocalConnection;
pub use statistics::MaybeLocalStatistics;
pub use way::{Reason, Way};
