//! The thin asynchronous shell around the protocol: it moves bytes between `proto` and a base connection.

mod admission;
mod confirmation;
mod connect;
mod deadline;
mod early;
mod listen;
mod open;
mod server;
mod settle;

pub use listen::Incoming;

pub(crate) use connect::connect;
pub(crate) use early::connect_early;
pub(crate) use listen::listen;
