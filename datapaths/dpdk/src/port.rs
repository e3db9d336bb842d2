//! An open port: a network interface, real or virtual, that DPDK drives.

use crate::claim::Claim;
use crate::failure::check;
use crate::{MacAddr, Pool};
use bertha_core::Error;
use bertha_dpdk_sys as sys;
pub use bertha_dpdk_sys::PortStatistics;
use bertha_netstack::{Offload, Spread};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of the open ports, behind the lock under which ports are opened and closed: drivers keep tables of their devices and
/// sockets, and take no lock for them.
pub(crate) static OPEN_PORTS: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// An open port. Each of its queues refers to it; the port is stopped and closed with the last queue.
pub(crate) struct PortHandle {
    pub(crate) number: u16,
    pub(crate) name: String,
    /// Size of the largest IP packet in bytes.
    pub(crate) mtu: u16,
    pub(crate) mac: MacAddr,
    /// The buffers that the port receives into.
    pub(crate) pool: Pool,
    /// The assignment of flows to queues.
    pub(crate) spread: Spread,
    /// True if the port itself spreads flows as `spread` does.
    pub(crate) spreads: bool,
    /// The checksums that the port computes.
    pub(crate) offload: Offload,
    /// Number of frames that came in too many segments for a buffer.
    pub(crate) dropped: AtomicU64,
    /// Number of attempts to send of which the port took no frame.
    pub(crate) refused: AtomicU64,
    /// The lock for queries: DPDK wants a port queried by one thread at a time.
    pub(crate) querying: Mutex<()>,
    /// True if the port's device was added for the port, and goes with it.
    pub(crate) was_added: bool,
    pub(crate) _claim: Claim,
}

impl PortHandle {
    /// Returns true if the link is up.
    pub(crate) fn is_up(&self) -> bool {
        let _querying = self.querying.lock();
        // SAFETY: the port is open as long as the handle lives.
        unsafe { sys::bertha_dpdk_port_is_up(self.number) == 1 }
    }

    pub(crate) fn statistics(&self) -> Result<PortStatistics, Error> {
        let mut statistics = PortStatistics::default();
        let querying = self.querying.lock();
        // SAFETY: the port is open as long as the handle lives, and the pointer is valid during the call.
        let code = unsafe { sys::bertha_dpdk_port_statistics(self.number, &mut statistics) };
        drop(querying);
        check(code, "querying statistics")?;
        statistics.receive_errors += self.dropped.load(Ordering::Relaxed);
        Ok(statistics)
    }
}

impl Drop for PortHandle {
    fn drop(&mut self) {
        let mut open_ports = OPEN_PORTS.lock();
        open_ports.remove(&self.number);
        // SAFETY: the port is open, and its queues refer to it, so none of them is left.
        let code = unsafe { sys::bertha_dpdk_port_close(self.number, self.was_added) };
        if code < 0 {
            tracing::warn!(port = self.name, code, "the port did not close properly");
        }
    }
}

impl fmt::Debug for PortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("name", &self.name)
            .field("mac", &format_args!("{}", self.mac))
            .field("mtu", &self.mtu)
            .field("spreads", &self.spreads)
            .field("offload", &self.offload)
            .finish_non_exhaustive()
    }
}
