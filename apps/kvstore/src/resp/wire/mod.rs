//! Commands and replies as bytes. Sans-IO.

mod arguments;
mod decoder;
mod format;
mod replies;
mod scan;
#[cfg(test)]
mod tests;

pub use arguments::Arguments;
pub use decoder::CommandDecoder;
pub use format::{Frame, RespFormat};
pub use replies::{Replies, Version};
pub(super) use scan::number;
