//! Where clients connect.

use crate::zone;
use bertha::{Addr, Error};
use std::fmt;
use std::str::FromStr;

/// An address for clients that speak RESP. As text: `127.0.0.1:6379` or `[fe80::1%eth0]:6379` for TCP through the kernel, `unix:/run/store.sock` for Unix stream
/// sockets, `dpdk:10.0.0.1:6379` for TCP over the DPDK port that the environment describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RespAddr {
    /// Through the kernel.
    Kernel(Addr),
    /// Over DPDK.
    Dpdk(Addr),
}

impl FromStr for RespAddr {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix("dpdk:") {
            Some(addr) => Ok(Self::Dpdk(addr.parse()?)),
            None if text.starts_with("unix:") => Ok(Self::Kernel(text.parse()?)),
            None => Ok(Self::Kernel(zone::parse(text)?.into())),
        }
    }
}

impl fmt::Display for RespAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(addr) => addr.fmt(f),
            Self::Dpdk(addr) => write!(f, "dpdk:{addr}"),
        }
    }
}
