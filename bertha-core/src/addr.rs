//! The address of an endpoint.

use crate::{Error, ErrorKind};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The address of an endpoint, for [`Datapath::connect`](crate::Datapath::connect) and
/// [`listen`](crate::Datapath::listen).
///
/// An address is written `127.0.0.1:4242`, `[::1]:4242`, or `unix:/run/store.sock`. A text that no socket can
/// have as its address is [`Invalid`](ErrorKind::Invalid): a Unix path is not empty, has at most 107 bytes,
/// and no NUL byte.
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
    /// Returns the IP address and port, or an error that says that `datapath` needs an IP address.
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

    /// Returns the socket path, or an error that says that `datapath` needs a socket path.
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
            return match unusable(path) {
                None => Ok(Self::Unix(path.into())),
                Some(reason) => {
                    let what =
                        format!("address `{}` {reason}, like unix:/run/store.sock", text.escape_debug());
                    Err(Error::new(ErrorKind::Invalid, what))
                }
            };
        }
        text.parse().map(Self::Ip).map_err(|source| {
            let what = format!("address `{}` is neither IP:PORT nor unix:PATH", text.escape_debug());
            Error::new(ErrorKind::Invalid, what).because(source)
        })
    }
}

/// The longest path of a Unix socket, in bytes: `sun_path` has 108, the last of which is a NUL.
const MAX_PATH: usize = 107;

/// Returns the reason why no socket can have this path.
fn unusable(path: &str) -> Option<String> {
    if path.is_empty() {
        Some("has no path behind `unix:`".into())
    } else if path.contains('\0') {
        Some("has a NUL byte in its path; it names a file".into())
    } else if path.len() > MAX_PATH {
        Some(format!("has a path of {} bytes, at most {MAX_PATH} fit", path.len()))
    } else {
        None
    }
}

impl From<SocketAddr> for Addr {
    fn from(addr: SocketAddr) -> Self {
        Self::Ip(addr)
    }
}

/// Converts as `SocketAddr` does: `([127, 0, 0, 1], 4242)`.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        let error = text.parse::<Addr>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.context().to_owned()
    }

    #[test]
    fn text_is_an_address_and_back() {
        for text in ["127.0.0.1:4242", "[::1]:4242", "unix:/run/store.sock", "unix:relative"] {
            assert_eq!(text.parse::<Addr>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_path_that_no_socket_can_have_is_refused() {
        assert_eq!(refusal("unix:"), "address `unix:` has no path behind `unix:`, like unix:/run/store.sock");
        assert!(
            refusal("unix:/run/a\0b").starts_with("address `unix:/run/a\\0b` has a NUL byte in its path")
        );
        let longest = format!("unix:/{}", "a".repeat(MAX_PATH - 1));
        assert!(longest.parse::<Addr>().is_ok());
        assert!(refusal(&format!("{longest}a")).contains("has a path of 108 bytes, at most 107 fit"));
    }

    #[test]
    fn other_text_is_refused() {
        for text in
            ["", "4242", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "unix/run/store.sock", "::1:4242x"]
        {
            assert_eq!(refusal(text), format!("address `{text}` is neither IP:PORT nor unix:PATH"));
        }
    }
}
