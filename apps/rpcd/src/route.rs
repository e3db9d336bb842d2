//! The way of calls to servers of other machines.

use bertha_core::{Addr, Error, ErrorKind};
use std::fmt;
use std::net::SocketAddr;
use std::str::FromStr;

/// The way of a service's calls to a server that is no application of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The daemon of the server's machine listens at this address.
    Daemon(Addr),
    /// A server of gRPC listens at this address.
    Grpc(SocketAddr),
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daemon(addr) => fmt::Display::fmt(addr, f),
            Self::Grpc(addr) => write!(f, "grpc:{addr}"),
        }
    }
}

impl FromStr for Route {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix("grpc:") {
            None => Ok(Self::Daemon(text.parse()?)),
            Some(addr) => addr.parse().map(Self::Grpc).map_err(|_| {
                let what = format!("`{}` is not grpc:IP:PORT", text.escape_debug());
                Error::new(ErrorKind::Invalid, what)
            }),
        }
    }
}

impl From<SocketAddr> for Route {
    fn from(addr: SocketAddr) -> Self {
        Self::Daemon(addr.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_read_as_it_is_shown() {
        for text in ["10.0.0.2:7000", "[::1]:7000", "grpc:10.0.0.2:7000", "grpc:[::1]:7000"] {
            assert_eq!(text.parse::<Route>().unwrap().to_string(), text);
        }
        for wrong in ["", "there", "grpc:", "grpc:there:80", "grpc:unix:/run/x"] {
            assert!(wrong.parse::<Route>().is_err(), "{wrong}");
        }
    }
}
