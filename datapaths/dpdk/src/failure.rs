//! What DPDK says when it can't.

use bertha_core::{Error, ErrorKind};
use bertha_dpdk_sys as sys;
use std::ffi::CStr;

/// The datapath's name, for errors.
pub(crate) const NAME: &str = "Dpdk";

const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const EEXIST: i32 = 17;
const ENODEV: i32 = 19;
const EINVAL: i32 = 22;
const ENOSPC: i32 = 28;

/// An error of this datapath.
#[cold]
pub(crate) fn failure(kind: ErrorKind, what: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(kind, what).at(NAME)
}

/// `code` if it is not negative; else what is wrong while `doing`, and what to do about it.
pub(crate) fn check(code: i32, doing: &str) -> Result<i32, Error> {
    if code >= 0 { Ok(code) } else { Err(failed(-code, doing)) }
}

#[cold]
fn failed(errno: i32, doing: &str) -> Error {
    // SAFETY: any number will do.
    let said = unsafe { sys::bertha_strerror(errno) };
    // SAFETY: it is a constant string, or one in a buffer of the calling thread that only its next call overwrites.
    let said = unsafe { CStr::from_ptr(said) }.to_string_lossy();
    let (kind, hint) = match errno {
        EPERM | EACCES => (
            ErrorKind::Unavailable,
            "this needs privileges: run as root, or use a port that needs none, such as net_memif",
        ),
        ENODEV | ENOENT => (ErrorKind::Unavailable, "there is no such device or driver; `device` names one"),
        ENOMEM | ENOSPC => (
            ErrorKind::Exhausted,
            "not enough memory: with --no-huge raise -m in `eal`, else reserve hugepages in /proc/sys/vm/nr_hugepages",
        ),
        EEXIST => (ErrorKind::Invalid, "it is in use already, by this process or by another"),
        EINVAL => (ErrorKind::Invalid, "an argument is wrong; DPDK's own message stands above"),
        _ => (ErrorKind::Io, "DPDK's own message stands above"),
    };
    failure(kind, format!("{doing} failed: {said}: {hint}"))
}
