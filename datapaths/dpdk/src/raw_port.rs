//! A port as DPDK has it: frames in, frames out.

use crate::eal::enter_thread;
use crate::failure::failure;
use crate::open::{OpenPort, QueuePair, open};
use crate::port::{PortHandle, PortStatistics};
use crate::{Burst, Config, MacAddr, Pool};
use bertha_core::{Error, ErrorKind};
use std::fmt;
use std::sync::Arc;

/// A started port with one pair of queues. It is stopped and closed when it is dropped.
///
/// For programs that make frames themselves: [`Dpdk`](crate::Dpdk) has the network stack on top, and several queues.
pub struct Port {
    handle: Arc<PortHandle>,
    queues: QueuePair,
}

impl Port {
    /// Initialises DPDK, if necessary, and opens the port that `config` describes, always with one pair of queues and without
    /// offloads. Blocks for some 150 ms the first time.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if there is no DPDK, no such port, or not the privilege for it;
    /// [`Exhausted`](ErrorKind::Exhausted) if there is too little memory; [`Invalid`](ErrorKind::Invalid) if DPDK does not
    /// understand a setting.
    pub fn open(config: &Config) -> Result<Self, Error> {
        let OpenPort { handle, mut queues } = open(&Config { queues: 1, offload: false, ..config.clone() })?;
        let queues = queues.pop().ok_or_else(|| failure(ErrorKind::Io, "the port has no queue"))?;
        Ok(Self { handle, queues })
    }

    /// The port's link-layer address.
    pub fn mac(&self) -> MacAddr {
        self.handle.mac
    }

    /// The largest packet in bytes, without the Ethernet header.
    pub fn mtu(&self) -> usize {
        self.handle.mtu.into()
    }

    /// The pool of its buffers.
    pub fn pool(&self) -> Pool {
        self.handle.pool
    }

    /// Whether the link is up.
    pub fn is_up(&self) -> bool {
        self.handle.is_up()
    }

    /// Appends frames that have arrived to `burst`, as far as there is room, and returns how many those were.
    #[inline]
    pub fn receive(&mut self, burst: &mut Burst) -> usize {
        self.queues.rx.receive(burst)
    }

    /// Sends frames from the front of `burst`, as many as the port takes at the moment, and returns how many those were.
    #[inline]
    pub fn transmit(&mut self, burst: &mut Burst) -> usize {
        self.queues.tx.transmit(burst)
    }

    /// Gives this thread a cache of buffers, so that it takes them without synchronising with others.
    pub fn enter_thread(&self) {
        enter_thread();
    }

    /// The port's own counters. Frames in too many segments count as errors of receiving.
    ///
    /// # Errors
    /// If the driver does not count.
    pub fn statistics(&self) -> Result<PortStatistics, Error> {
        self.handle.statistics()
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
