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

/// What is received stays in its large buffer from this length on; below, it moves to one of its size.
///
/// A message that its receiver keeps would otherwise keep 64 KiB from being used, a thousand queued ones 64 MiB; and
/// the copy of so few bytes, which are in the cache, costs less than fetching a large buffer that is not.
const KEEP: usize = 2048;

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
    source: S,
    peer: S::Peer,
    limits: Limits,
    waiting: Waiting,
) -> (Arc<Endpoint<S>>, usize) {
    let (demux, slot) = Demux::connected(peer, limits);
    (Endpoint::connected(source, demux, waiting), slot)
}

/// The first `len` bytes of a receive buffer, in one of their size if they are few.
pub(crate) fn fitted(mut buffer: Buf, len: usize) -> Buf {
    buffer.truncate(len);
    moved(&buffer).unwrap_or(buffer)
}

/// A message in a buffer of its size, if it is to leave the one that it was received in.
pub(crate) fn moved(message: &[u8]) -> Option<Buf> {
    if message.len() <= KEEP { Buf::copy_of(message, 0).ok() } else { None }
}
