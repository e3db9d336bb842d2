//! Claims of cards, and of the kernel's interfaces: a process claims an interface for its addresses.
//!
//! Drivers such as `net_af_packet` open an interface of the kernel any number of times, and each process
//! receives all frames. Two processes with a common address would answer the same neighbours and ports: each
//! would refuse the other's connections. A card behind `uio_pci_generic` may be opened any number of times, too,
//! and each start resets it under the process that has it.

use crate::Subnet;
use crate::failure::failure;
use crate::slot::slot;
use bertha_core::{Error, ErrorKind};
use bertha_dpdk_sys as sys;
use std::ffi::CString;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Folder of the lock files. Only root creates files there, so other users can't claim an interface.
const FOLDER: &str = "/run";

/// Number of attempts to lock a file that its owners remove.
const ATTEMPTS: usize = 100;

/// Returns the name of the kernel's interface that a virtual device is attached to.
pub(crate) fn interface(device: &str) -> Option<&str> {
    const DRIVERS: [&str; 3] = ["net_af_packet", "net_af_xdp", "net_pcap"];
    const ARGUMENTS: [&str; 4] = ["iface", "rx_iface", "rx_iface_in", "tx_iface"];
    let mut words = device.split(',');
    words.next().filter(|name| DRIVERS.iter().any(|driver| name.starts_with(driver)))?;
    let mut pairs = words.filter_map(|word| word.split_once('='));
    pairs.find_map(|(argument, name)| ARGUMENTS.contains(&argument).then_some(name))
}

/// Returns the error for a device whose interface does not exist in this network namespace.
pub(crate) fn missing_interface(device: &str) -> Option<Error> {
    let name = interface(device)?;
    // Unlike /sys/class/net, this file always describes the namespace of the process.
    let interfaces = std::fs::read_to_string("/proc/self/net/dev").ok()?;
    let exists = interfaces.lines().any(|line| line.split(':').next().is_some_and(|it| it.trim() == name));
    let what = || format!("the device `{device}`: there is no network interface `{name}`");
    (!exists).then(|| failure(ErrorKind::Unavailable, what()))
}

/// Returns true if the kernel's interface that a virtual device is attached to carries packets of this size already. A driver would set
/// the interface's MTU, and leave it so. Larger packets than those of Ethernet are left to the driver, which knows whether its frames
/// hold them.
pub(crate) fn has_mtu(device: &str, wanted: u16) -> bool {
    const ETHERNET: u16 = 1500;
    let name = interface(device).filter(|_| wanted <= ETHERNET);
    let Some(name) = name.and_then(|name| CString::new(name).ok()) else { return false };
    // SAFETY: the string lives during the call.
    let mtu = unsafe { sys::bertha_dpdk_interface_mtu(name.as_ptr()) };
    mtu >= wanted.into()
}

/// The locks of a process for a card, or for the addresses of an interface. Dropping the value releases them.
#[derive(Debug)]
pub(crate) struct Claim {
    locks: Vec<Lock>,
}

#[derive(Debug)]
struct Lock {
    path: PathBuf,
    /// The open file, which keeps the lock until the process ends in any way, or the value is dropped.
    _file: File,
}

impl Claim {
    /// Claims the card that `device` names, or the addresses at the interface that it is attached to.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if another port has the card, or one of the addresses.
    pub(crate) fn new(device: Option<&str>, subnets: &[Subnet]) -> Result<Self, Error> {
        let mut claim = Self { locks: Vec::new() };
        if let Some(slot) = device.and_then(slot) {
            claim.take(&format!("card-{slot}"), || {
                format!("another DPDK port has the card at the slot {slot}; give each port a card of its own")
            })?;
            return Ok(claim);
        }
        let Some(interface) = device.and_then(interface) else { return Ok(claim) };
        // Namespaces may have interfaces of equal names.
        let Ok(namespace) = std::fs::read_link("/proc/self/ns/net") else { return Ok(claim) };
        for subnet in subnets {
            let address = subnet.address;
            claim.take(&format!("{}-{interface}-{address}", namespace.display()), || {
                format!(
                    "another DPDK port is open at the interface `{interface}` with the address {address}; give each one of its own"
                )
            })?;
        }
        Ok(claim)
    }

    /// Locks the file for `what`. `taken` describes that another port has it.
    fn take(&mut self, what: &str, taken: impl FnOnce() -> String) -> Result<(), Error> {
        let name = format!("bertha-dpdk-{what}.lock");
        let path = PathBuf::from(FOLDER).join(name.replace(['/', ':'], "_"));
        match lock(&path) {
            Ok(Tried::Locked(file)) => self.locks.push(Lock { path, _file: file }),
            Ok(Tried::Taken | Tried::Gone) => return Err(failure(ErrorKind::AddrInUse, taken())),
            // A process without the privilege for a lock is not likely to have the privilege for the card or
            // interface.
            Err(error) => tracing::debug!(%error, ?path, "no lock"),
        }
        Ok(())
    }
}

/// The outcome of an attempt to lock a file.
#[derive(Debug)]
enum Tried {
    Locked(File),
    /// Another process has the lock.
    Taken,
    /// Its owner has removed the file since it was opened, so a lock on it keeps no process out.
    Gone,
}

/// Locks the file at `path`, which is created if it does not exist. Other owners that come and go may
/// interfere in each of a bounded number of attempts.
fn lock(path: &Path) -> io::Result<Tried> {
    let mut tried = Tried::Gone;
    for _ in 0..ATTEMPTS {
        let file = File::options().write(true).create(true).truncate(false).open(path)?;
        tried = lock_opened(path, file)?;
        if !matches!(tried, Tried::Gone) {
            break;
        }
    }
    Ok(tried)
}

/// Locks a file that was opened at `path`.
fn lock_opened(path: &Path, file: File) -> io::Result<Tried> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(Tried::Taken),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let locked = file.metadata()?;
    Ok(match std::fs::metadata(path) {
        Ok(there) if (there.dev(), there.ino()) == (locked.dev(), locked.ino()) => Tried::Locked(file),
        _ => Tried::Gone,
    })
}

impl Drop for Lock {
    fn drop(&mut self) {
        // The file is removed while it is locked, so it can't belong to a successor.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_that_does_not_exist_is_named() {
        let error = missing_interface("net_af_packet0,qpairs=1,iface=nosuch").unwrap();
        assert!(error.context().contains("no network interface `nosuch`"), "{error}");
        assert!(missing_interface("net_af_packet0,iface=lo").is_none());
        // These drivers create a device of any name that they are given.
        assert!(missing_interface("net_tap0,iface=nosuch").is_none());
        assert!(missing_interface("net_vhost0,iface=/run/nosuch").is_none());
    }

    #[test]
    fn an_address_of_an_interface_is_claimed_once() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let claim = |address: &str| {
            let subnets: Vec<Subnet> = vec![address.parse().unwrap()];
            Claim::new(Some("net_af_packet0,iface=bertha-test"), &subnets)
        };
        let first = claim("10.0.0.1/24").unwrap();
        assert!(claim("10.0.0.2/24").is_ok());
        let error = claim("10.0.0.1/16").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.context().contains("`bertha-test` with the address 10.0.0.1"), "{error}");
        drop(first);
        assert!(claim("10.0.0.1/24").is_ok());
    }

    #[test]
    fn a_card_is_claimed_once_whatever_its_addresses() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let claim = |device, address: &str| Claim::new(Some(device), &[address.parse().unwrap()]);
        let first = claim("ffff:ff:1f.7", "10.0.0.1/24").unwrap();
        let error = claim("ffff:ff:1f.7,mprq_en=1", "10.0.0.2/24").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        assert!(error.context().contains("the card at the slot ffff:ff:1f.7"), "{error}");
        assert!(claim("ffff:ff:1f.6", "10.0.0.1/24").is_ok());
        drop(first);
        assert!(claim("ffff:ff:1f.7", "10.0.0.2/24").is_ok());
    }

    #[test]
    fn all_drivers_of_interfaces_are_known() {
        for (device, expected) in [
            ("net_af_packet0,qpairs=2,iface=va", Some("va")),
            ("net_af_xdp1,iface=va,start_queue=1", Some("va")),
            ("net_pcap0,iface=va", Some("va")),
            ("net_pcap0,rx_iface_in=va,tx_iface=vb", Some("va")),
            ("net_pcap0,rx_pcap=a,tx_pcap=b", None),
            ("net_tap0,iface=va", None),
        ] {
            assert_eq!(interface(device), expected, "{device}");
        }
    }

    /// The owner gives a claim up after a second process has opened the file, and before it locks the file; a
    /// third process creates the file anew.
    #[test]
    fn a_file_that_was_removed_is_no_claim() {
        let path = std::env::temp_dir().join(format!("bertha-claim-{}", std::process::id()));
        let Ok(Tried::Locked(file)) = lock(&path) else { panic!("nobody has it") };
        let owner = Lock { path: path.clone(), _file: file };
        let opened = File::options().write(true).open(&path).unwrap();
        drop(owner);
        let Ok(Tried::Locked(file)) = lock(&path) else { panic!("nobody has it") };
        let third = Lock { path: path.clone(), _file: file };
        assert!(matches!(lock_opened(&path, opened).unwrap(), Tried::Gone));
        assert!(matches!(lock(&path).unwrap(), Tried::Taken));
        drop(third);
        assert!(!path.exists());
    }
}
