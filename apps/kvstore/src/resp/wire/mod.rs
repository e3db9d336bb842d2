//! Arguments and replies as bytes. Sans-IO.

mod arguments;
mod replies;
mod scan;

pub use arguments::Arguments;
pub use replies::{Replies, Version};
pub(super) use scan::{Found, Scan, number};
