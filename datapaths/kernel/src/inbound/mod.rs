//! What arrives at a socket, and who waits for it: one socket, one connection or many.

mod alarm;
mod demux;
mod endpoint;
mod io;
mod profit;
#[cfg(test)]
mod tests;
mod visit;

use crate::Waiting;
use bertha_core::Buf;
pub use demux::Counters;
pub(crate) use demux::{Demux, Limits, Peer, WIDTHS};
pub(crate) use endpoint::Endpoint;
pub(crate) use io::{Drained, Io};
use std::sync::Arc;

/// What one receiving call found.
#[derive(Debug, Clone, Copy, Default)]
pub struct Received {
    /// How many buffers it filled.
    pub(crate) buffers: usize,
    /// How many messages it dropped because they were longer than the datapath carries.
    pub(crate) oversize: u64,
}

/// Where messages come from.
pub trait Source: Send + Sync + 'static {
    /// How it tells peers apart.
    type Peer: Peer;

    /// The socket.
    type Io: Io;

    /// The socket.
    fn io(&self) -> &Self::Io;

    /// Receives what is there, with up to `width` buffers, and hands each to `deliver` with the address of its peer
    /// and the length of the messages in it: after the last system call, since `deliver` takes a lock.
    ///
    /// `WouldBlock` if nothing was there. With `eager`, it asks the kernel even if the reactor has not reported
    /// anything; otherwise a `WouldBlock` re-arms the reactor.
    fn receive(
        &self,
        width: usize,
        eager: bool,
        deliver: impl FnMut(&Self::Peer, usize, Buf),
    ) -> std::io::Result<Received>;
}

/// The endpoint of a connected socket, and the number of its connection.
pub(crate) fn connected<S: Source>(
    source: Arc<S>,
    peer: S::Peer,
    limits: Limits,
    waiting: Waiting,
) -> (Arc<Endpoint<S>>, usize) {
    let (demux, slot) = Demux::connected(peer, limits);
    (Endpoint::connected(source, demux, waiting), slot)
}
