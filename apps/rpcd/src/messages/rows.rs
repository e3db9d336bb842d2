//! The large rows of messages to other daemons, which stay in the heap of their sender until a connection has sent them.

pub(crate) mod outgoing;
pub(crate) mod sending;
pub(crate) mod way;
