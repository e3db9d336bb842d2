//! At most once among any number of publishers, receivers and restarts.

mod chunnel;
mod connection;
mod file;
mod log;
mod memory;
mod windows;

pub use chunnel::AtMostOnceByPublisher;
pub use connection::ByPublisherConnection;
pub use file::FileMemory;
pub use memory::{Memory, MessageId};
