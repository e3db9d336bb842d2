//! Errors of DPDK, with advice.

use bertha_core::{Error, ErrorKind};
use bertha_dpdk_sys as sys;
use std::ffi::CStr;

/// Name of the datapath in errors.
pub(crate) const NAME: &str = "Dpdk";

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
/// Number of the error for a device that was added before.
pub(crate) const EEXIST: i32 = 17;
const EBUSY: i32 = 16;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;
/// Number of the error for an MTU that a port does not take.
pub(crate) const ERANGE: i32 = 34;

/// Returns an error of this datapath.
#[cold]
pub(crate) fn failure(kind: ErrorKind, what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(kind, what).at(NAME)
}

/// Returns `code` if it is not negative, and otherwise an error with the failed step, the reason, and the
/// remedy.
pub(crate) fn check(code: i32, doing: &str) -> Result<i32, Error> {
    if code >= 0 { Ok(code) } else { Err(failed(-code, doing)) }
}

#[cold]
fn failed(errno: i32, doing: &str) -> Error {
    // SAFETY: the function accepts any number.
    let said = unsafe { sys::bertha_dpdk_strerror(errno) };
    // SAFETY: the pointer is a string with a zero byte at its end: a constant, or in a buffer of the calling
    // thread, which its next call overwrites.
    let said = unsafe { CStr::from_ptr(said) }.to_string_lossy();
    let (kind, hint) = advice(errno, rustix::process::geteuid().is_root());
    failure(kind, format!("{doing} failed: {said}: {hint}"))
}

fn advice(errno: i32, is_root: bool) -> (ErrorKind, &'static str) {
    match errno {
        EPERM | EACCES if !is_root => (
            ErrorKind::Unavailable,
            "this needs privileges: run as root, or use a port that needs none, such as net_memif",
        ),
        EPERM | EACCES => {
            (ErrorKind::Unavailable, "the driver does not take the device; DPDK's own message stands above")
        }
        ENODEV | ENOENT => (ErrorKind::Unavailable, "there is no such device or driver; `device` names one"),
        ENOMEM | ENOSPC => (
            ErrorKind::Exhausted,
            "not enough memory: with --no-huge raise -m in `eal`, else reserve hugepages in /proc/sys/vm/nr_hugepages",
        ),
        EBUSY => (
            ErrorKind::Unavailable,
            "DPDK gives no reason, or names a device in use: another process may have locked the files of this `--file-prefix`; \
             pass --no-shconf or --in-memory in `eal`, or another prefix",
        ),
        EEXIST => (ErrorKind::Invalid, "it is in use already, by this process or by another"),
        EINVAL => (ErrorKind::Invalid, "an argument is wrong; DPDK's own message stands above"),
        _ => (ErrorKind::Io, "DPDK's own message stands above"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_to_do() {
        assert_eq!(check(3, "asking").unwrap(), 3);
        let error = check(-ENOMEM, "making a pool").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Exhausted);
        assert!(
            error.context().contains("making a pool") && error.context().contains("hugepages"),
            "{error}"
        );
        assert_eq!(check(-EPERM, "opening a port").unwrap_err().kind(), ErrorKind::Unavailable);
        let error = check(-EBUSY, "initialising DPDK").unwrap_err();
        assert!(
            error.kind() == ErrorKind::Unavailable && error.context().contains("--file-prefix"),
            "{error}"
        );
        for errno in [EPERM, EACCES] {
            assert!(advice(errno, false).1.contains("run as root"));
            assert!(!advice(errno, true).1.contains("root"), "root is told to be root");
        }
    }
}
