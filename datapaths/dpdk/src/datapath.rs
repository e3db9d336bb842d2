//! The datapath.

use crate::device::Device;
use crate::failure::{NAME, failure};
use crate::{Config, Counters, DpdkConnection, DpdkListener, Offload, PortStatistics, QueueCounters};
use bertha_core::{Addr, Datapath, Error, ErrorKind};
use parking_lot::Mutex;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The port that the environment describes, once it is open. It stays open until the process ends.
static OF_ENVIRONMENT: Mutex<Option<Arc<Device>>> = Mutex::new(None);

/// UDP over a DPDK port.
///
/// [`new`](Self::new) takes its settings from the environment and opens the port when it is first used, so that a program that
/// was written for kernel sockets needs no other change; [`open`](Self::open) takes them as an argument. The values of
/// `new` share one port, as do the clones of one value; it is closed when the last of them, their listeners and
/// connections is dropped.
///
/// Addresses are those of the interface that the settings describe. Messages are as large as the MTU of the interface and of
/// the path allows, since IP fragments are neither made nor taken: those that arrive are dropped and counted.
#[derive(Clone)]
pub struct Dpdk {
    /// Nothing stands for the environment's.
    device: Option<Arc<Device>>,
}

impl Dpdk {
    /// The datapath that the environment describes; see [`Config::from_env`]. Does nothing yet.
    pub fn new() -> Self {
        Self { device: None }
    }

    /// The datapath that `config` describes. Initialises DPDK, if that has not been done, and opens the port: it blocks for some
    /// 150 ms.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if there is no DPDK, no such port, or not the privilege for it;
    /// [`Exhausted`](ErrorKind::Exhausted) if there is too little memory; [`Invalid`](ErrorKind::Invalid) if a setting makes
    /// no sense.
    pub fn open(config: &Config) -> Result<Self, Error> {
        Ok(Self { device: Some(Device::open(config)?) })
    }

    pub(crate) fn device(&self) -> Result<Arc<Device>, Error> {
        if let Some(device) = &self.device {
            return Ok(device.clone());
        }
        let mut shared = OF_ENVIRONMENT.lock();
        if let Some(device) = &*shared {
            return Ok(device.clone());
        }
        let device = Device::open(&Config::from_env()?)?;
        *shared = Some(device.clone());
        Ok(device)
    }

    /// What the datapath dropped so far.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn counters(&self) -> Result<Counters, Error> {
        Ok(self.device()?.counters())
    }

    /// What each queue received so far. All zeros if there is only one: then it is what the [port](Self::statistics) has
    /// received.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn queues(&self) -> Result<Vec<QueueCounters>, Error> {
        Ok(self.device()?.queue_counters())
    }

    /// What the port counted so far.
    ///
    /// # Errors
    /// As for [`open`](Self::open), and if the driver does not count.
    pub fn statistics(&self) -> Result<PortStatistics, Error> {
        self.device()?.statistics()
    }

    /// Which checksums of datagrams the port computes as they are sent; the rest is computed before.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn offload(&self) -> Result<Offload, Error> {
        Ok(self.device()?.offload())
    }

    /// How many buffers of the port's pool are in use: by the application, waiting in queues, or in the port's rings.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn buffers_in_use(&self) -> Result<u32, Error> {
        Ok(self.device()?.pool().in_use())
    }

    /// Whether there is somebody at the port's other end.
    ///
    /// # Errors
    /// As for [`open`](Self::open).
    pub fn is_up(&self) -> Result<bool, Error> {
        Ok(self.device()?.is_up())
    }
}

impl Default for Dpdk {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Dpdk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dpdk").field("from_environment", &self.device.is_none()).finish_non_exhaustive()
    }
}

impl Datapath for Dpdk {
    type Connection = DpdkConnection;
    type Listener = DpdkListener;

    async fn connect(&self, to: Addr) -> Result<DpdkConnection, Error> {
        let peer = to.ip(NAME)?;
        let device = self.device()?;
        reachable(&device, peer)?;
        let lane = device.own_lane();
        let suits = |port| device.belongs(peer, port, lane);
        let (slot, port) = device
            .lock(lane)
            .demux
            .connect(peer, rand::random(), suits)
            .ok_or_else(|| failure(ErrorKind::Exhausted, "no port is left for another connection"))?;
        Ok(DpdkConnection::new(device, lane, slot, port, peer))
    }

    async fn listen(&self, on: Addr) -> Result<DpdkListener, Error> {
        let on = on.ip(NAME)?;
        let device = self.device()?;
        listenable(&device, on)?;
        let (acceptors, port) = listen(&device, on.port()).ok_or_else(|| {
            failure(ErrorKind::AddrInUse, format!("cannot listen on {on}: the port is in use, or none is left"))
        })?;
        Ok(DpdkListener::new(device, acceptors, (on.ip(), port).into()))
    }
}

/// Listens in all lanes at `port`, or at any if it is zero: the acceptors' numbers, and the port.
fn listen(device: &Device, port: u16) -> Option<(Vec<usize>, u16)> {
    /// How often a port is tried that is free in the first lane.
    const ATTEMPTS: usize = 64;
    (0..if port == 0 { ATTEMPTS } else { 1 }).find_map(|_| {
        // All at once, always in the same order.
        let mut lanes: Vec<_> = (0..device.lanes()).map(|lane| device.lock(lane)).collect();
        let (mut acceptors, mut chosen) = (Vec::new(), port);
        for state in &mut lanes {
            let Some((acceptor, port)) = state.demux.listen(chosen, rand::random()) else { break };
            acceptors.push(acceptor);
            chosen = port;
        }
        if acceptors.len() < lanes.len() {
            for (state, acceptor) in lanes.iter_mut().zip(acceptors) {
                state.demux.stop_listening(acceptor);
            }
            return None;
        }
        Some((acceptors, chosen))
    })
}

/// Whether connections to `peer` make sense.
pub(crate) fn reachable(device: &Device, peer: SocketAddr) -> Result<(), Error> {
    let ip: IpAddr = peer.ip();
    if ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || peer.port() == 0 {
        let what =
            format!("{peer} is no address that a port reaches; the interface has {}", addresses(device));
        return Err(failure(ErrorKind::Invalid, what));
    }
    if device.interface().address_for(ip).is_none() {
        let what =
            format!("the interface has no address of the family of {peer}, only {}", addresses(device));
        return Err(failure(ErrorKind::Invalid, what));
    }
    Ok(())
}

/// Whether the interface has the address to listen at.
pub(crate) fn listenable(device: &Device, on: SocketAddr) -> Result<(), Error> {
    if on.ip().is_unspecified() || device.interface().is_own(on.ip()) {
        return Ok(());
    }
    let what = format!("cannot listen on {on}: the interface has {}", addresses(device));
    Err(failure(ErrorKind::Invalid, what))
}

fn addresses(device: &Device) -> String {
    device.interface().subnets().map(|subnet| subnet.to_string()).collect::<Vec<_>>().join(", ")
}
