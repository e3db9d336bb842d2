//! A port as DPDK provides it: frames in, frames out.

use crate::eal::enter_thread;
use crate::failure::failure;
use crate::open::{OpenPort, QueuePair, open};
use crate::port::{PortHandle, PortStatistics};
use crate::{Burst, Config, MacAddr, Pool};
use bertha_core::{Error, ErrorKind};
use std::fmt;
use std::sync::Arc;

/// A started port with a single pair of queues. The port is stopped and closed when it is dropped.
///
/// The type serves programs that make frames themselves: [`Dpdk`](crate::Dpdk) has the network stack on top,
/// and several queues.
pub struct Port {
    handle: Arc<PortHandle>,
    queues: QueuePair,
}

impl Port {
    /// Initialises DPDK, if necessary, and opens the port that `config` describes, always with a single pair
    /// of queues and without offloads. The first call blocks for some 150 ms.
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

    /// Returns the port's link-layer address.
    pub fn mac(&self) -> MacAddr {
        self.handle.mac
    }

    /// Returns the size of the largest packet in bytes, without the Ethernet header.
    pub fn mtu(&self) -> usize {
        self.handle.mtu.into()
    }

    /// Returns the pool of the port's buffers.
    pub fn pool(&self) -> Pool {
        self.handle.pool
    }

    /// Returns true if the link is up.
    pub fn is_up(&self) -> bool {
        self.handle.is_up()
    }

    /// Appends arrived frames to `burst`, as far as it has room. Returns the number of appended frames.
    #[inline]
    pub fn receive(&mut self, burst: &mut Burst) -> usize {
        self.queues.rx.receive(burst)
    }

    /// Sends frames from the front of `burst`, as many as the port takes at this moment. Returns the number
    /// of sent frames.
    #[inline]
    pub fn transmit(&mut self, burst: &mut Burst) -> usize {
        self.queues.tx.transmit(burst)
    }

    /// Gives this thread a cache of buffers, so that it allocates without synchronising with other threads.
    pub fn enter_thread(&self) {
        enter_thread();
    }

    /// Returns the port's own counters. Frames in too many segments count as errors of receiving.
    ///
    /// # Errors
    /// Fails if the driver does not count.
    pub fn statistics(&self) -> Result<PortStatistics, Error> {
        self.handle.statistics()
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}
