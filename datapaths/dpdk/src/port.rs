//! A port: a network interface, real or virtual, that DPDK drives.

use crate::claim::{Claim, missing_interface};
use crate::eal::{Eal, enter_thread};
use crate::failure::{check, failure};
use crate::{Burst, Config, MacAddr, Pool, eal, memif};
use bertha_core::{Error, ErrorKind};
use bertha_dpdk_sys as sys;
pub use bertha_dpdk_sys::PortStatistics;
use bertha_netstack::{Offload, Spread};
use parking_lot::Mutex;
use std::ffi::{CStr, CString};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A started port with one pair of queues. It is stopped and closed when it is dropped.
///
/// This is DPDK as it is, for who wants frames: [`Dpdk`](crate::Dpdk) builds on it, and also uses several queues.
pub struct Port {
    port: Arc<Shared>,
    receiver: Receiver,
    transmitter: Transmitter,
}

/// What a port's queues have in common. The port is stopped and closed with the last of them.
pub(crate) struct Shared {
    number: u16,
    mtu: u16,
    mac: MacAddr,
    name: String,
    pool: Pool,
    spread: Spread,
    /// Whether the port spreads flows as `spread` says.
    rss: bool,
    offload: Offload,
    /// Frames that came in too many segments for a buffer.
    dropped: AtomicU64,
    /// DPDK wants questions about a port asked by one thread at a time.
    asking: Mutex<()>,
    _claim: Claim,
}

/// A queue that frames arrive in. It is the only one of its number.
pub(crate) struct Receiver {
    port: Arc<Shared>,
    queue: u16,
}

/// A queue that frames leave from. It is the only one of its number.
pub(crate) struct Transmitter {
    port: Arc<Shared>,
    queue: u16,
}

/// A port's queues, in the order of their numbers.
pub(crate) type Queues = Vec<(Receiver, Transmitter)>;

impl Port {
    /// Initialises DPDK, if it is not, and opens the port that `config` describes, with one pair of queues and without
    /// offloads, whatever the settings say. Blocks for some 150 ms the first time.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if there is no DPDK, no such port, or not the privilege for it;
    /// [`Exhausted`](ErrorKind::Exhausted) if there is too little memory; [`Invalid`](ErrorKind::Invalid) if DPDK does not
    /// understand a setting.
    pub fn open(config: &Config) -> Result<Self, Error> {
        let (port, mut queues) = open(&Config { queues: 1, offload: false, ..config.clone() })?;
        let (receiver, transmitter) = queues.pop().ok_or_else(|| failure(ErrorKind::Io, "no queue"))?;
        Ok(Self { port, receiver, transmitter })
    }

    /// The port's address.
    pub fn mac(&self) -> MacAddr {
        self.port.mac
    }

    /// The largest packet that it carries, without the Ethernet header.
    pub fn mtu(&self) -> usize {
        self.port.mtu()
    }

    /// Where its buffers come from.
    pub fn pool(&self) -> Pool {
        self.port.pool
    }

    /// Whether there is somebody at the other end.
    pub fn is_up(&self) -> bool {
        self.port.is_up()
    }

    /// Appends to `burst` what has arrived, as far as there is room, and returns how much that was.
    #[inline]
    pub fn receive(&mut self, burst: &mut Burst) -> usize {
        self.receiver.receive(burst)
    }

    /// Sends frames from the front of `burst`, as many as the port takes at the moment, and returns how many those were.
    #[inline]
    pub fn transmit(&mut self, burst: &mut Burst) -> usize {
        self.transmitter.transmit(burst)
    }

    /// Lets this thread fetch and return buffers without meeting others.
    pub fn enter_thread(&self) {
        enter_thread();
    }

    /// What the port counted. What came in too many segments counts as an error of receiving.
    ///
    /// # Errors
    /// If the driver does not count.
    pub fn statistics(&self) -> Result<PortStatistics, Error> {
        self.port.statistics()
    }
}

/// Ports come and go one at a time: drivers keep tables of their devices and sockets, and take no lock for them.
static CHANGING: Mutex<()> = Mutex::new(());

/// Opens the port that `config` describes, with as many pairs of queues as the settings ask for and the port has.
pub(crate) fn open(config: &Config) -> Result<(Arc<Shared>, Queues), Error> {
    let eal = eal::init(&config.eal_arguments()?)?;
    let changing = CHANGING.lock();
    // A port of plain frames may have no address.
    let claim = Claim::new(config.device.as_deref(), &config.subnets().unwrap_or_default())?;
    let number = find(eal, config)?;
    let pool = Pool::new(eal, config.buffers, config.room())?;
    let mut setup = sys::PortSetup {
        queues: config.queues,
        descriptors: config.descriptors,
        mtu: config.mtu,
        promiscuous: config.promiscuous,
        offload: config.offload,
        rss_key: [0; sys::RSS_KEY],
    };
    setup.rss_key.iter_mut().zip(Spread::key(sys::RSS_KEY)).for_each(|(place, byte)| *place = byte);
    let mut facts = sys::PortFacts {
        mtu: 0,
        mac: [0; 6],
        driver: std::ptr::null(),
        queues: 0,
        rss_entries: 0,
        rss: false,
        offload: 0,
    };
    // SAFETY: the port exists, the pool lives for ever, and the other pointers are valid during the call.
    let code = unsafe { sys::bertha_port_open(number, pool.raw(), &setup, &mut facts) };
    let name = config.port_name().unwrap_or("the first port").to_owned();
    check(code, &format!("starting {name}"))?;
    drop(changing);
    let driver = if facts.driver.is_null() {
        "unknown".into()
    } else {
        // SAFETY: drivers' names are constant strings.
        unsafe { CStr::from_ptr(facts.driver) }.to_string_lossy()
    };
    let port = Arc::new(Shared {
        number,
        mtu: facts.mtu.min(config.mtu),
        mac: MacAddr(facts.mac),
        name,
        pool,
        spread: Spread::new(config.queues.into(), facts.rss_entries.into()),
        // Where it has fewer queues than there are to be, its own table is of no use.
        rss: facts.rss && facts.queues == config.queues,
        offload: Offload {
            header: facts.offload & sys::OFFLOAD_HEADER != 0,
            udp: facts.offload & sys::OFFLOAD_UDP != 0,
        },
        dropped: AtomicU64::new(0),
        asking: Mutex::new(()),
        _claim: claim,
    });
    tracing::info!(?port, %driver, queues = facts.queues, "the port has started");
    let queue = |queue| {
        let port = || port.clone();
        (Receiver { port: port(), queue }, Transmitter { port: port(), queue })
    };
    Ok((port.clone(), (0..facts.queues).map(queue).collect()))
}

/// The number of the port that `config` names, whose device is added if it has one.
fn find(_: Eal, config: &Config) -> Result<u16, Error> {
    let text = |what: &str| {
        CString::new(what).map_err(|_| failure(ErrorKind::Invalid, format!("{what:?} contains a zero byte")))
    };
    if let Some(device) = &config.device {
        let argument = text(&memif::with_buffers(device, config.frame()))?;
        let obstacle = missing_interface(device).or_else(|| memif::make_way(device));
        // SAFETY: the environment is initialised, as the `Eal` proves, and the string lives during the call.
        let code = unsafe { sys::bertha_device_add(argument.as_ptr()) };
        // Of an interface that does not exist, and of a socket in use, drivers say that something is not permitted.
        check(code, &format!("adding the device `{device}`")).map_err(|error| obstacle.unwrap_or(error))?;
    }
    let mut number = 0;
    let code = match config.port_name() {
        Some(name) => {
            let argument = text(name)?;
            // SAFETY: the environment is initialised, and both pointers are valid during the call.
            let code = unsafe { sys::bertha_port_by_name(argument.as_ptr(), &mut number) };
            check(code, &format!("looking for the port `{name}`"))
        }
        None => {
            // SAFETY: the environment is initialised, and the pointer is valid during the call.
            let code = unsafe { sys::bertha_port_first(&mut number) };
            check(code, "looking for a port")
        }
    };
    code.map_err(|error| {
        let what =
            format!("{}; set `device` (BERTHA_DPDK_DEVICE), as in net_memif0,role=client", error.context());
        failure(ErrorKind::Unavailable, what).because(error)
    })?;
    Ok(number)
}

impl Shared {
    pub(crate) fn mac(&self) -> MacAddr {
        self.mac
    }

    pub(crate) fn mtu(&self) -> usize {
        self.mtu.into()
    }

    pub(crate) fn pool(&self) -> Pool {
        self.pool
    }

    /// How flows are spread over as many queues as there are to be.
    pub(crate) fn spread(&self) -> Spread {
        self.spread
    }

    /// Whether the port puts each flow into the queue that [`spread`](Self::spread) says.
    pub(crate) fn spreads(&self) -> bool {
        self.rss
    }

    /// What it does about checksums.
    pub(crate) fn offload(&self) -> Offload {
        self.offload
    }

    pub(crate) fn is_up(&self) -> bool {
        let _asking = self.asking.lock();
        // SAFETY: the port is open.
        unsafe { sys::bertha_port_is_up(self.number) == 1 }
    }

    pub(crate) fn statistics(&self) -> Result<PortStatistics, Error> {
        let mut statistics = PortStatistics::default();
        let asking = self.asking.lock();
        // SAFETY: the port is open, and the pointer is valid during the call.
        let code = unsafe { sys::bertha_port_statistics(self.number, &mut statistics) };
        drop(asking);
        check(code, "asking for statistics")?;
        statistics.receive_errors += self.dropped.load(Ordering::Relaxed);
        Ok(statistics)
    }
}

impl Receiver {
    /// As [`Port::receive`].
    #[inline]
    pub(crate) fn receive(&mut self, burst: &mut Burst) -> usize {
        let (number, queue, mut dropped) = (self.port.number, self.queue, 0);
        let receive = |frames, count| {
            // SAFETY: the port is open, nobody else receives from its queue, since `self` is exclusive and the only one of its
            // number, and `fill` gives room for so many frames.
            unsafe { sys::bertha_receive(number, queue, frames, count, &mut dropped) }
        };
        // SAFETY: the port fills its frames from our pool, and tells how many it wrote.
        let received = unsafe { burst.fill(receive) };
        if dropped > 0 {
            self.port.dropped.fetch_add(dropped, Ordering::Relaxed);
        }
        received
    }
}

impl Transmitter {
    /// As [`Port::transmit`].
    #[inline]
    pub(crate) fn transmit(&mut self, burst: &mut Burst) -> usize {
        let (number, queue) = (self.port.number, self.queue);
        let send = |frames, count| {
            // SAFETY: the port is open, nobody else sends to its queue, since `self` is exclusive and the only one of its number,
            // and `empty` gives so many whole packets.
            unsafe { sys::bertha_transmit(number, queue, frames, count) }
        };
        // SAFETY: what the port says that it has taken is its own.
        unsafe { burst.empty(send) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let _changing = CHANGING.lock();
        // SAFETY: the port is open, and with its queues gone nobody does anything with it any more.
        let code = unsafe { sys::bertha_port_close(self.number) };
        if code < 0 {
            tracing::warn!(port = self.name, code, "the port did not close properly");
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("name", &self.name)
            .field("mac", &format_args!("{}", self.mac))
            .field("mtu", &self.mtu)
            .field("rss", &self.rss)
            .field("offload", &self.offload)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.port.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A port that throws frames away, but has a table of queues and a key.
    #[test]
    fn a_port_that_spreads_flows_is_told_how() {
        if !sys::AVAILABLE {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
            return;
        }
        let config = |number: u32, queues| Config {
            queues,
            buffers: 8191,
            ..Config::new(format!("net_null{number}"), "10.0.0.1/24")
        };
        let (port, queues) = open(&config(10, 4)).unwrap();
        assert_eq!((port.spreads(), queues.len(), port.spread().queues()), (true, 4, 4));
        let (alone, queues) = open(&config(11, 1)).unwrap();
        assert_eq!((alone.spreads(), queues.len()), (false, 1));
    }
}
