//! Claims of the kernel's interfaces: a process claims an interface for its addresses.
//!
//! Drivers such as `net_af_packet` open an interface of the kernel any number of times, and each process
//! receives all frames. Two processes with a common address would answer the same neighbours and ports: each
//! would refuse the other's connections.

use crate::Subnet;
use crate::failure::failure;
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
    let mut words = device.split(',');
    words.next().filter(|name| name.starts_with("net_af_packet") || name.starts_with("net_af_xdp"))?;
    words.find_map(|word| word.strip_prefix("iface="))
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
    let mtu = unsafe { sys::bertha_interface_mtu(name.as_ptr()) };
    mtu >= wanted.into()
}

/// The locks of a process for the addresses of an interface. Dropping the value releases them.
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
    /// Claims the addresses at the interface that `device` is attached to, if it is attached to one.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if another port has one of the addresses.
    pub(crate) fn new(device: Option<&str>, subnets: &[Subnet]) -> Result<Self, Error> {
        let mut claim = Self { locks: Vec::new() };
        let Some(interface) = device.and_then(interface) else { return Ok(claim) };
        // Namespaces may have interfaces of equal names.
        let Ok(namespace) = std::fs::read_link("/proc/self/ns/net") else { return Ok(claim) };
        for subnet in subnets {
            let address = subnet.address;
            let name = format!("bertha-dpdk-{}-{interface}-{address}.lock", namespace.display());
            let path = PathBuf::from(FOLDER).join(name.replace(['/', ':'], "_"));
            match lock(&path) {
                Ok(Tried::Locked(file)) => claim.locks.push(Lock { path, _file: file }),
                Ok(Tried::Taken | Tried::Gone) => {
                    let what = format!(
                        "another DPDK port is open at the interface `{interface}` with the address {address}; give each one of its own"
                    );
                    return Err(failure(ErrorKind::AddrInUse, what));
                }
                // A process without the privilege for a lock is not likely to have the privilege for the
                // interface.
                Err(error) => tracing::debug!(%error, ?path, "no lock"),
            }
        }
        Ok(claim)
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
