//! A port: a network interface, real or virtual, that DPDK drives.

use crate::eal::enter_thread;
use crate::failure::{check, failure};
use crate::{Burst, Config, MacAddr, Pool, eal};
use bertha_core::{Error, ErrorKind};
use bertha_dpdk_sys as sys;
pub use bertha_dpdk_sys::PortStatistics;
use std::ffi::{CStr, CString};
use std::fmt;

/// A started port with one pair of queues. It is stopped and closed when it is dropped.
///
/// This is DPDK as it is, for who wants frames: [`Dpdk`](crate::Dpdk) builds on it.
pub struct Port {
    number: u16,
    mtu: u16,
    mac: MacAddr,
    name: String,
    pool: Pool,
    /// Frames that came in too many segments for a buffer.
    dropped: u64,
}

impl Port {
    /// Initialises DPDK, if it is not, and opens the port that `config` describes. Blocks for some 150 ms the first time.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) if there is no DPDK, no such port, or not the privilege for it;
    /// [`Exhausted`](ErrorKind::Exhausted) if there is too little memory; [`Invalid`](ErrorKind::Invalid) if DPDK does not
    /// understand a setting.
    pub fn open(config: &Config) -> Result<Self, Error> {
        eal::init(&config.eal_arguments()?)?;
        let text = |what: &str| {
            CString::new(what)
                .map_err(|_| failure(ErrorKind::Invalid, format!("{what:?} contains a zero byte")))
        };
        if let Some(device) = &config.device {
            let argument = text(device)?;
            // SAFETY: the environment is initialised, and the string lives during the call.
            let code = unsafe { sys::bertha_device_add(argument.as_ptr()) };
            check(code, &format!("adding the device `{device}`"))?;
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
            let what = format!(
                "{}; set `device` (BERTHA_DPDK_DEVICE), as in net_memif0,role=client",
                error.context()
            );
            failure(ErrorKind::Unavailable, what).because(error)
        })?;
        let pool = Pool::new(config.buffers, config.room())?;
        let setup = sys::PortSetup {
            queues: 1,
            descriptors: config.descriptors,
            mtu: config.mtu,
            promiscuous: config.promiscuous,
        };
        let mut facts = sys::PortFacts { mtu: 0, mac: [0; 6], driver: std::ptr::null() };
        // SAFETY: the port exists, the pool lives for ever, and the other pointers are valid during the call.
        let code = unsafe { sys::bertha_port_open(number, pool.raw(), &setup, &mut facts) };
        let name = config.port_name().unwrap_or("the first port").to_owned();
        check(code, &format!("starting {name}"))?;
        let driver = if facts.driver.is_null() {
            "unknown".into()
        } else {
            // SAFETY: drivers' names are constant strings.
            unsafe { CStr::from_ptr(facts.driver) }.to_string_lossy()
        };
        let port =
            Self { number, mtu: facts.mtu.min(config.mtu), mac: MacAddr(facts.mac), name, pool, dropped: 0 };
        tracing::info!(?port, %driver, "the port has started");
        Ok(port)
    }

    /// The port's address.
    pub fn mac(&self) -> MacAddr {
        self.mac
    }

    /// The largest packet that it carries, without the Ethernet header.
    pub fn mtu(&self) -> usize {
        self.mtu.into()
    }

    /// Where its buffers come from.
    pub fn pool(&self) -> Pool {
        self.pool
    }

    /// Whether there is somebody at the other end.
    pub fn is_up(&self) -> bool {
        // SAFETY: the port is open.
        unsafe { sys::bertha_port_is_up(self.number) == 1 }
    }

    /// Appends to `burst` what has arrived, as far as there is room, and returns how much that was.
    #[inline]
    pub fn receive(&mut self, burst: &mut Burst) -> usize {
        let (number, dropped) = (self.number, &mut self.dropped);
        let receive = |frames, count| {
            // SAFETY: the port is open, nobody else receives from its queue, since `self` is exclusive, and `fill` gives room
            // for so many frames.
            unsafe { sys::bertha_receive(number, 0, frames, count, dropped) }
        };
        // SAFETY: the port fills its frames from our pool, and tells how many it wrote.
        unsafe { burst.fill(receive) }
    }

    /// Sends frames from the front of `burst`, as many as the port takes at the moment, and returns how many those were.
    #[inline]
    pub fn transmit(&mut self, burst: &mut Burst) -> usize {
        let number = self.number;
        let send = |frames, count| {
            // SAFETY: the port is open, nobody else sends to its queue, since `self` is exclusive, and `empty` gives so many
            // whole packets.
            unsafe { sys::bertha_transmit(number, 0, frames, count) }
        };
        // SAFETY: what the port says that it has taken is its own.
        unsafe { burst.empty(send) }
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
        let mut statistics = PortStatistics::default();
        // SAFETY: the port is open, and the pointer is valid during the call.
        check(unsafe { sys::bertha_port_statistics(self.number, &mut statistics) }, "asking for statistics")?;
        statistics.receive_errors += self.dropped;
        Ok(statistics)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // SAFETY: the port is open, and this was the last that anybody does with it.
        let code = unsafe { sys::bertha_port_close(self.number) };
        if code < 0 {
            tracing::warn!(port = self.name, code, "the port did not close properly");
        }
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port")
            .field("name", &self.name)
            .field("mac", &format_args!("{}", self.mac))
            .field("mtu", &self.mtu)
            .finish_non_exhaustive()
    }
}
