//! Arguments and replies as bytes. Sans-IO.

mod arguments;
mod inline;
mod limits;
mod number;
mod replies;
mod scan;
mod skip;

pub use arguments::CommandArguments;
pub(super) use limits::{Limits, NO_MEMORY};
pub(super) use number::number;
pub use replies::{Replies, Version};
pub(super) use scan::{Found, Scan};
pub(super) use skip::Skip;
