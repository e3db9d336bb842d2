//! UDP over a port, as a datapath.

use crate::device::Device;
use crate::failure::{NAME, failure};
use crate::queue::{Connected, Listening};
use crate::reach::{addresses, reachable};
use crate::{Config, Counters, DpdkConnection, DpdkListener, Offload, PortStatistics, QueueCounters};
use bertha_core::{Addr, Datapath, Error, ErrorKind};
use bertha_netstack::{Binding, Flow};
use bertha_runtime::tokio::TokioRuntime;
use parking_lot::Mutex;
use std::ffi::c_int;
use std::fmt;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The port that the environment describes, once it is open. The port stays open until the process ends.
static OF_ENVIRONMENT: Mutex<Option<Arc<Device>>> = Mutex::new(None);

unsafe extern "C" {
    /// Registers a function that the process calls when it ends in order.
    safe fn atexit(run: extern "C" fn()) -> c_int;
}

/// Closes the port of the environment, unless connections still use it: otherwise drivers would leave their
/// programs at interfaces of the kernel, and claims their files.
extern "C" fn close_at_exit() {
    // A thread that opens the port at this moment keeps it.
    let device = OF_ENVIRONMENT.try_lock().and_then(|mut shared| shared.take());
    // No panic may leave this function.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(device)));
}

/// UDP over a DPDK port.
///
/// [`new`](Self::new) takes its settings from the environment and opens the port at its first use, so that a
/// program that was written for kernel sockets needs no other change; [`open`](Self::open) takes the settings
/// as an argument. All values of `new` share a port. Clones of a value of `open` share a port too, which is
/// closed after the last of these clones, and of their listeners and connections, is dropped.
///
/// Addresses belong to the interface that the settings describe. Messages are as large as the MTU of the
/// interface and of the path allows, since IP fragments are neither made nor accepted: arriving fragments are
/// dropped and counted. A listener at `0.0.0.0` accepts peers over IPv4, a listener at `::` peers of both
/// families.
#[derive(Clone)]
pub struct Dpdk {
    /// The open port; `None` stands for the environment's port.
    device: Option<Arc<Device>>,
}

impl Dpdk {
    /// Creates the datapath that the environment describes; see [`Config::from_env`]. The port is opened
    /// later, at its first use.
    pub fn new() -> Self {
        Self { device: None }
    }

    /// Opens the datapath that `config` describes. Initialises DPDK, unless that was done before, and opens
    /// the port: the call blocks for some 150 ms.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if there is no DPDK, no such port or interface, or not the privilege for it;
    /// [`Exhausted`](ErrorKind::Exhausted) if there is too little memory; [`Invalid`](ErrorKind::Invalid) if a setting makes
    /// no sense; [`AddrInUse`](ErrorKind::AddrInUse) if another port has the same address at the same interface of the kernel.
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
        // The call fails only without memory, and then nothing is tidied up.
        atexit(close_at_exit);
        Ok(device)
    }

    /// Returns the number of frames and messages that the datapath has dropped, answered and copied so far.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
    pub fn counters(&self) -> Result<Counters, Error> {
        Ok(self.device()?.counters())
    }

    /// Returns the number of frames that each queue has received so far. With a single queue, all numbers are
    /// zero: see the counters of the [port](Self::statistics).
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
    pub fn queues(&self) -> Result<Vec<QueueCounters>, Error> {
        Ok(self.device()?.queue_counters())
    }

    /// Returns the port's own counters.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open), and an error if the driver does not count.
    pub fn statistics(&self) -> Result<PortStatistics, Error> {
        self.device()?.port.statistics()
    }

    /// Returns the checksums of datagrams that the port computes; all others are computed in software.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
    pub fn offload(&self) -> Result<Offload, Error> {
        Ok(self.device()?.port.offload)
    }

    /// Returns the number of buffers of the port's pool in use: by the application, in queues, or in the
    /// port's rings.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
    pub fn buffers_in_use(&self) -> Result<u32, Error> {
        Ok(self.device()?.port.pool.in_use())
    }

    /// Returns true if the link is up.
    ///
    /// # Errors
    /// Errors of [`open`](Self::open).
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
        let number = reachable(&device, peer)?.number();
        let queue = device.own_queue();
        let suits = |port| device.belongs(Flow::new(peer, port).at(number), queue);
        let connected = device.queues[queue].lock().connections.connect(peer, number, rand::random(), suits);
        let Connected { connection, flow } = connected
            .ok_or_else(|| failure(ErrorKind::Exhausted, "no port is left for another connection"))?;
        Ok(DpdkConnection::new(device, queue, connection, flow))
    }

    async fn listen(&self, on: Addr) -> Result<DpdkListener, Error> {
        let on = on.ip(NAME)?;
        let device = self.device()?;
        let at = listenable(&device, on)?;
        let listening = listen(&device, at, on.port()).ok_or_else(|| not_listening(NAME, on))?;
        let port = listening[0].port;
        Ok(DpdkListener::new(device, listening, (on.ip(), port).into()))
    }

    fn runtime(&self) -> Option<TokioRuntime> {
        TokioRuntime::current()
    }
}

/// Listens in all queues at the addresses `at` and at `port`, or at an ephemeral port if it is zero. Returns `None`
/// if the port is in use at one of the addresses, or no port is left.
fn listen(device: &Device, at: Binding, port: u16) -> Option<Vec<Listening>> {
    /// Number of attempts to find a port that is free in all queues.
    const ATTEMPTS: usize = 64;
    (0..if port == 0 { ATTEMPTS } else { 1 }).find_map(|_| {
        // All queues are locked at once, always in the same order.
        let mut queues: Vec<_> = device.queues.iter().map(|queue| queue.lock()).collect();
        let mut all: Vec<Listening> = Vec::new();
        for state in &mut queues {
            let port = all.first().map_or(port, |first| first.port);
            let Some(listening) = state.connections.listen(at, port, rand::random()) else { break };
            all.push(listening);
        }
        if all.len() < queues.len() {
            for (state, listening) in queues.iter_mut().zip(all) {
                state.connections.stop_listening(listening);
            }
            return None;
        }
        Some(all)
    })
}

/// Returns the error for a listener without a port.
#[cold]
pub(crate) fn not_listening(datapath: &'static str, on: SocketAddr) -> Error {
    let (kind, why) = match on.port() {
        0 => (ErrorKind::Exhausted, "no port is left"),
        _ => (ErrorKind::AddrInUse, "the port is in use"),
    };
    Error::new(kind, format!("cannot listen on {on}: {why}")).at(datapath)
}

/// Returns the interface's addresses that `on` stands for, or an error if the interface does not have them.
pub(crate) fn listenable(device: &Device, on: SocketAddr) -> Result<Binding, Error> {
    device.interface.binding(on.ip()).ok_or_else(|| {
        let what = format!("cannot listen on {on}: the interface has {}", addresses(device));
        failure(ErrorKind::Invalid, what)
    })
}
