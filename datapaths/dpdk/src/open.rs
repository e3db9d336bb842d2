//! Opening of a port, with its pool and its queues.

use crate::claim::{Claim, has_mtu, missing_interface};
use crate::eal::{self, Eal};
use crate::failure::{EEXIST, ERANGE, check, failure};
use crate::pool::Placement;
use crate::port::{OPEN_PORTS, PortHandle};
use crate::queue::{RxQueue, TxQueue};
use crate::{Config, MacAddr, Pool, memif, slot};
use bertha_core::{Error, ErrorKind};
use bertha_dpdk_sys as sys;
use bertha_netstack::{Offload, Spread};
use parking_lot::Mutex;
use std::ffi::{CStr, CString};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A port that was opened.
pub(crate) struct OpenPort {
    pub(crate) handle: Arc<PortHandle>,
    /// The queues of the port, in the order of their numbers.
    pub(crate) queues: Vec<QueuePair>,
}

/// The receive queue and the transmit queue with a common number.
pub(crate) struct QueuePair {
    pub(crate) rx: RxQueue,
    pub(crate) tx: TxQueue,
}

/// Opens the port that `config` describes, with as many pairs of queues as the settings ask for and the port
/// has.
///
/// # Errors
/// [`AddrInUse`](ErrorKind::AddrInUse) if this process has opened the port already.
pub(crate) fn open(config: &Config) -> Result<OpenPort, Error> {
    let smallest = smallest_mtu(config);
    if config.mtu < smallest {
        let what =
            format!("`mtu` (BERTHA_DPDK_MTU) is {}: at least {smallest} for these addresses", config.mtu);
        return Err(failure(ErrorKind::Invalid, what));
    }
    // The claim comes first, since the start of DPDK's environment already resets a card. A port of plain frames
    // may have no address.
    let claim = Claim::new(config.device.as_deref(), &config.subnets().unwrap_or_default())?;
    let eal = eal::init(&config.eal_arguments()?).map_err(|error| obstacle(config).unwrap_or(error))?;
    let mut open_ports = OPEN_PORTS.lock();
    let number = find(eal, config)?;
    let name = config.port_name().unwrap_or_else(|| "the first port".into());
    if !open_ports.insert(number) {
        let what =
            format!("{name} is open already in this process: drop its other user, or name another `device`");
        return Err(failure(ErrorKind::AddrInUse, what));
    }
    let opened = start(eal, config, number, name, claim);
    if opened.is_err() {
        open_ports.remove(&number);
        // SAFETY: the port is open nowhere else, as its number was not in the set, and no queue of it was made.
        unsafe { sys::bertha_dpdk_port_close(number, is_added_for(config)) };
    }
    opened
}

/// Returns the reason why a program can't have the card that the settings name. DPDK's environment takes a card as it starts, and what
/// it says of a failure names neither the card nor the remedy.
fn obstacle(config: &Config) -> Option<Error> {
    config.device.as_deref().filter(|_| sys::AVAILABLE).and_then(slot::obstacle)
}

/// Returns the smallest MTU with which an interface of these addresses may be (RFC 791; RFC 8200, section 5).
fn smallest_mtu(config: &Config) -> u16 {
    let has_v6 = config.subnets().unwrap_or_default().iter().any(|subnet| subnet.address.is_ipv6());
    if has_v6 { 1280 } else { 576 }
}

/// Returns true if the port is that of the device that the settings name.
fn is_added_for(config: &Config) -> bool {
    config.device.is_some() && config.port.is_none()
}

/// Starts a port that is not open.
fn start(eal: Eal, config: &Config, number: u16, name: String, claim: Claim) -> Result<OpenPort, Error> {
    let descriptors = config.affordable_descriptors()?;
    if descriptors < config.descriptors {
        tracing::info!(
            port = name,
            descriptors,
            wanted = config.descriptors,
            "the rings leave half of the buffers"
        );
    }
    // SAFETY: `find` has found the port.
    let is_virtual =
        check(unsafe { sys::bertha_dpdk_port_is_virtual(number) }, &format!("asking for {name}"))?;
    let placement = if is_virtual == 1 { Placement::OnePiece } else { Placement::WithinPages };
    let pool = Pool::new(eal, config.buffers, config.buffer_capacity(), placement)?;
    let mut setup = sys::PortSetup {
        queues: config.queues,
        descriptors,
        mtu: config.mtu,
        vlan: config.vlan.unwrap_or(sys::NO_VLAN),
        keep_mtu: config.device.as_deref().is_some_and(|device| has_mtu(device, config.mtu)),
        promiscuous: config.promiscuous,
        offload: config.offload,
        rss_key: [0; sys::RSS_KEY],
    };
    setup.rss_key.iter_mut().zip(Spread::key(sys::RSS_KEY)).for_each(|(place, byte)| *place = byte);
    let mut facts = sys::PortFacts {
        mtu: 0,
        min_mtu: 0,
        max_mtu: 0,
        mac: [0; 6],
        driver: std::ptr::null(),
        queues: 0,
        rss_entries: 0,
        rss: false,
        offload: 0,
    };
    // SAFETY: `find` has found the port, the pool lives forever, and the other pointers are valid during the
    // call.
    let code = unsafe { sys::bertha_dpdk_port_open(number, pool.raw(), &setup, &mut facts) };
    if code == -ERANGE {
        let sys::PortFacts { min_mtu, max_mtu, .. } = facts;
        let what = format!(
            "{name} does not take the MTU {} (`mtu`, BERTHA_DPDK_MTU): the driver states from {min_mtu} to {max_mtu}, and may \
             allow less by the arguments of `device`",
            config.mtu
        );
        return Err(failure(ErrorKind::Invalid, what));
    }
    check(code, &format!("starting {name}"))?;
    let driver = if facts.driver.is_null() {
        "unknown".into()
    } else {
        // SAFETY: drivers' names are constant strings with a zero byte at their end.
        unsafe { CStr::from_ptr(facts.driver) }.to_string_lossy()
    };
    let handle = Arc::new(PortHandle {
        number,
        name,
        mtu: facts.mtu.min(config.mtu),
        mac: MacAddr(facts.mac),
        pool,
        spread: Spread::new(config.queues.into(), facts.rss_entries.into()),
        // If the port has fewer queues than wanted, its table names other queues than the spread does.
        spreads: facts.rss && facts.queues == config.queues,
        offload: Offload {
            header: facts.offload & sys::OFFLOAD_HEADER != 0,
            udp: facts.offload & sys::OFFLOAD_UDP != 0,
        },
        dropped: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        querying: Mutex::new(()),
        was_added: is_added_for(config),
        _claim: claim,
    });
    tracing::info!(port = ?handle, %driver, queues = facts.queues, "the port has started");
    let pair = |number| {
        // SAFETY: the port was set up with this queue, and queues are made only here, a single queue for each
        // number.
        let rx = unsafe { RxQueue::new(handle.clone(), number) };
        // SAFETY: as above.
        let tx = unsafe { TxQueue::new(handle.clone(), number) };
        QueuePair { rx, tx }
    };
    let queues = (0..facts.queues).map(pair).collect();
    Ok(OpenPort { handle, queues })
}

/// Returns the number of the port that `config` names. If the settings name a device, it is added first.
fn find(_: Eal, config: &Config) -> Result<u16, Error> {
    let text = |what: &str| {
        CString::new(what).map_err(|_| failure(ErrorKind::Invalid, format!("{what:?} contains a zero byte")))
    };
    if let Some(device) = &config.device {
        let argument = text(&memif::with_buffers(device, config.max_frame()))?;
        let obstacle =
            missing_interface(device).or_else(|| memif::free_socket(device)).or_else(|| obstacle(config));
        // SAFETY: the environment is initialised, as the `Eal` proves, and the string lives during the call.
        let code = unsafe { sys::bertha_dpdk_device_add(argument.as_ptr()) };
        // DPDK finds a card when it starts, if the settings of the first port name the card.
        let is_there = code == -EEXIST && slot::slot(device).is_some();
        // For a missing interface and for a socket in use, drivers report that an operation is not permitted.
        let added = if is_there { Ok(0) } else { check(code, &format!("adding the device `{device}`")) };
        added.map_err(|error| obstacle.unwrap_or(error))?;
    }
    let mut number = 0;
    let code = match config.port_name() {
        Some(name) => {
            let argument = text(&name)?;
            // SAFETY: the environment is initialised, and both pointers are valid during the call.
            let code = unsafe { sys::bertha_dpdk_port_by_name(argument.as_ptr(), &mut number) };
            check(code, &format!("looking for the port `{name}`"))
        }
        None => {
            // SAFETY: the environment is initialised, and the pointer is valid during the call.
            let code = unsafe { sys::bertha_dpdk_port_first(&mut number) };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A port that discards frames, but has a table of queues and a key.
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
        let port = open(&config(10, 4)).unwrap();
        assert_eq!((port.handle.spreads, port.queues.len(), port.handle.spread.queues()), (true, 4, 4));
        let alone = open(&config(11, 1)).unwrap();
        assert_eq!((alone.handle.spreads, alone.queues.len()), (false, 1));
    }

    #[test]
    fn a_device_can_be_opened_again_and_an_mtu_below_the_limit_is_named() {
        if !sys::AVAILABLE {
            return;
        }
        let config = Config { buffers: 255, descriptors: 64, ..Config::new("net_null12", "10.0.0.1/24") };
        for _ in 0..3 {
            drop(open(&config).unwrap());
        }
        let Err(error) = open(&Config { mtu: 500, ..config.clone() }) else {
            panic!("it took an MTU of 500")
        };
        assert!(error.context().contains("is 500: at least 576"), "{error}");
        drop(open(&config).unwrap());
    }

    /// The second attempt finds the first one's port, by its name, or by a device that is there.
    #[test]
    fn a_failed_attempt_leaves_the_port_of_another_user_alone() {
        if !sys::AVAILABLE {
            return;
        }
        let config = Config { buffers: 255, descriptors: 64, ..Config::new("net_null13", "10.0.0.1/24") };
        let first = open(&config).unwrap();
        let by_name =
            Config { device: Some("net_null14".into()), port: Some("net_null13".into()), ..config.clone() };
        for again in [&by_name, &Config { device: None, port: Some("net_null13".into()), ..config.clone() }] {
            let Err(error) = open(again) else { panic!("it was opened twice") };
            assert_eq!(error.kind(), ErrorKind::AddrInUse, "{error}");
        }
        assert!(first.handle.statistics().is_ok() && first.handle.is_up());
        drop(first);
        drop(open(&config).unwrap());
    }
}
