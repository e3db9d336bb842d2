//! Receiving: the service is asked for messages when a caller waits for them.

mod idling;
mod inbox;
mod task;

pub(crate) use inbox::Inbox;
pub(crate) use task::run;
