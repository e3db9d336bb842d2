//! Where a datapath can reach a peer.

use crate::{Error, ErrorKind};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The address of an endpoint: what [`Datapath::connect`](crate::Datapath::connect) and
/// [`listen`](crate::Datapath::listen) take.
///
/// As text: `127.0.0.1:4242`, `[::1]:4242`, or `unix:/run/store.sock`.
///
/// ```
/// # use bertha_core::Addr;
/// let addr: Addr = "unix:/run/store.sock".parse()?;
/// assert_eq!(addr.to_string(), "unix:/run/store.sock");
/// # Ok::<(), bertha_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Addr {
    /// An IPv4 or IPv6 address and a port.
    Ip(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
    /// An endpoint without an address of its own: an unbound Unix socket.
    Unnamed,
}

impl Addr {
    /// The IP address and port, or an error that says that `datapath` needs one.
    pub fn ip(&self, datapath: &'static str) -> Result<SocketAddr, Error> {
        match self {
            Self::Ip(addr) => Ok(*addr),
            other => Err(Error::new(
                ErrorKind::Invalid,
                format!("address `{other}` is not an IP address and port like 127.0.0.1:4242"),
            )
            .at(datapath)),
        }
    }

    /// The socket path, or an error that says that `datapath` needs one.
    pub fn unix(&self, datapath: &'static str) -> Result<&Path, Error> {
        match self {
            Self::Unix(path) => Ok(path),
            other => Err(Error::new(
                ErrorKind::Invalid,
                format!("address `{other}` is not a socket path like unix:/run/store.sock"),
            )
            .at(datapath)),
        }
    }
}

impl fmt::Display for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Unnamed => f.write_str("unnamed"),
        }
    }
}

impl FromStr for Addr {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Self::Unix(path.into()));
        }
        text.parse().map(Self::Ip).map_err(|source| {
            let what = format!("address `{text}` is neither IP:PORT nor unix:PATH");
            Error::new(ErrorKind::Invalid, what).because(source)
        })
    }
}

impl From<SocketAddr> for Addr {
    fn from(addr: SocketAddr) -> Self {
        Self::Ip(addr)
    }
}

/// As for `SocketAddr`: `([127, 0, 0, 1], 4242)`.
impl<I: Into<IpAddr>> From<(I, u16)> for Addr {
    fn from(addr: (I, u16)) -> Self {
        Self::Ip(addr.into())
    }
}

impl From<PathBuf> for Addr {
    fn from(path: PathBuf) -> Self {
        Self::Unix(path)
    }
}

impl From<&Path> for Addr {
    fn from(path: &Path) -> Self {
        Self::Unix(path.into())
    }
}
