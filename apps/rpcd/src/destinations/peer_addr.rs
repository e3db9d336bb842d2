//! The addresses at which daemons connect to each other.

use bertha_core::{Addr, Error, ErrorKind};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// An address at which a daemon takes calls of others. As text: `10.0.0.2:7000` for TCP through the kernel, `dpdk:10.0.0.2:7000` for TCP over
/// the DPDK port that the environment describes.
///
/// The operators of both ends name the transport. The ends could not agree on it: their first message needs one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerAddr {
    /// Through the kernel.
    Kernel(Addr),
    /// Over DPDK.
    Dpdk(Addr),
}

impl PeerAddr {
    /// Returns another address by the same transport.
    pub(crate) fn at(&self, addr: Addr) -> Self {
        match self {
            Self::Kernel(_) => Self::Kernel(addr),
            Self::Dpdk(_) => Self::Dpdk(addr),
        }
    }

    /// Checks that this program has the transport.
    ///
    /// # Errors
    /// [`Unavailable`](ErrorKind::Unavailable) for DPDK if it was not built in.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            Self::Dpdk(_) if cfg!(not(feature = "dpdk")) => Err(without_dpdk()),
            Self::Dpdk(_) | Self::Kernel(_) => Ok(()),
        }
    }
}

/// Returns the error of a program that was built without DPDK.
pub(crate) fn without_dpdk() -> Error {
    Error::new(ErrorKind::Unavailable, "built without DPDK; build it with --features dpdk")
}

impl fmt::Display for PeerAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(addr) => fmt::Display::fmt(addr, f),
            Self::Dpdk(addr) => write!(f, "dpdk:{addr}"),
        }
    }
}

impl FromStr for PeerAddr {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let Some(addr) = text.strip_prefix("dpdk:") else { return Ok(Self::Kernel(text.parse()?)) };
        // Nobody looks names up over such a port.
        match addr.parse::<SocketAddr>() {
            Ok(addr) => Ok(Self::Dpdk(addr.into())),
            Err(_) => {
                let what = format!("`{}` is not dpdk:IP:PORT", text.escape_debug());
                Err(Error::new(ErrorKind::Invalid, what))
            }
        }
    }
}

impl From<SocketAddr> for PeerAddr {
    fn from(addr: SocketAddr) -> Self {
        Self::Kernel(addr.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_dpdk_says_so() {
        let checked = |text: &str| text.parse::<PeerAddr>().unwrap().check();
        assert!(checked("10.0.0.2:7000").is_ok());
        let error = checked("dpdk:10.0.0.2:7000").err().map(|error| error.to_string());
        assert_eq!(error.is_none(), cfg!(feature = "dpdk"));
        assert!(error.is_none_or(|error| error.contains("--features dpdk")));
    }
}
