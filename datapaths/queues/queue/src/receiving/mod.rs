//! Messages are asked for when somebody waits for them.

mod idling;
mod inbox;
mod task;

pub(crate) use inbox::Inbox;
pub(crate) use task::run;
