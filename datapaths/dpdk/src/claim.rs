//! Claims of the kernel's interfaces: each by one process, for its addresses.
//!
//! Drivers such as `net_af_packet` open an interface of the kernel as often as they are asked to, and each process receives all frames.
//! Two with the same address would answer the same neighbours and ports: each refuses the other's connections.

use crate::Subnet;
use crate::failure::failure;
use bertha_core::{Error, ErrorKind};
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The folder of the locks, in which root alone makes files; so other users can't claim an interface.
const FOLDER: &str = "/run";

/// The attempts to lock a file that its owners remove.
const ATTEMPTS: usize = 100;

/// The name of the kernel's interface that a virtual device is attached to.
pub(crate) fn interface(device: &str) -> Option<&str> {
    let mut words = device.split(',');
    words.next().filter(|name| name.starts_with("net_af_packet") || name.starts_with("net_af_xdp"))?;
    words.find_map(|word| word.strip_prefix("iface="))
}

/// The error for a device whose interface does not exist in this network namespace.
pub(crate) fn missing_interface(device: &str) -> Option<Error> {
    let name = interface(device)?;
    // Unlike /sys/class/net, always of the namespace of the process.
    let interfaces = std::fs::read_to_string("/proc/self/net/dev").ok()?;
    let exists = interfaces.lines().any(|line| line.split(':').next().is_some_and(|it| it.trim() == name));
    let what = || format!("the device `{device}`: there is no network interface `{name}`");
    (!exists).then(|| failure(ErrorKind::Unavailable, what()))
}

/// The locks of a process for the addresses of an interface. Dropping it gives them up.
#[derive(Debug)]
pub(crate) struct Claim {
    locks: Vec<Lock>,
}

#[derive(Debug)]
struct Lock {
    path: PathBuf,
    /// Locked as long as it is open, by whatever end of the process.
    _file: File,
}

impl Claim {
    /// Claims the addresses at the interface that `device` is attached to, if it is attached to one.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if another port has one of them.
    pub(crate) fn new(device: Option<&str>, subnets: &[Subnet]) -> Result<Self, Error> {
        let mut claim = Self { locks: Vec::new() };
        let Some(interface) = device.and_then(interface) else { return Ok(claim) };
        // Namespaces have interfaces of the same name.
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
                // Without the privilege for a lock, the driver is not likely to have that for the interface.
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
    /// Another has it.
    Taken,
    /// Its owner has removed it since it was opened, so a lock on it keeps nobody out.
    Gone,
}

/// Locks the file at `path`, which is made if there is none. Owners that come and go may get in between, for so many attempts.
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
        // While it is locked, so it is no successor's.
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
        // Those make a device of any name that they are given.
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

    /// The owner gives a claim up after another has opened the file, and before that locks it; a third makes the file anew.
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
