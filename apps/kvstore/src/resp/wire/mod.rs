//! Arguments and replies as bytes. Sans-IO.

mod arguments;
mod inline;
mod limits;
mod replies;
mod scan;

pub use arguments::CommandArguments;
pub(super) use limits::Limits;
pub use replies::{Replies, Version};
pub(super) use scan::{Found, Scan, number};
