//! The library of an application: clients and servers whose calls go through the daemon of the machine.

mod again;
mod attaching;
mod calls;
mod client;
mod control;
mod entry;
mod grants;
mod handle;
mod incoming;
mod lent;
mod link;
mod server;
mod under_way;
mod way;

pub use attaching::Attach;
pub use client::Client;
pub use handle::Handle;
pub use incoming::Incoming;
pub use lent::Lent;
pub use server::Server;

use crate::Descriptor;
use std::io;

/// Reads what came through the queue.
fn descriptor(bytes: &[u8]) -> io::Result<Descriptor> {
    let read = bytes.try_into().ok().and_then(|bytes| Descriptor::read(bytes).ok());
    read.ok_or_else(unexpected)
}

#[cold]
fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the daemon does not follow the protocol")
}
