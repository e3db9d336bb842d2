//! The way of calls to servers of other machines.

use crate::destinations::peer_addr::PeerAddr;
use bertha_core::{Error, ErrorKind};
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

/// The way of a service's calls to a server that is no application of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The daemon of the server's machine listens at this address.
    Daemon(PeerAddr),
    /// A server of gRPC listens at this address.
    Grpc(SocketAddr),
    /// A server of gRPC takes TLS at this address, and has a certificate for this name, or for this IP address.
    Grpcs(SocketAddr, String),
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daemon(addr) => fmt::Display::fmt(addr, f),
            Self::Grpc(addr) => write!(f, "grpc:{addr}"),
            Self::Grpcs(addr, name) if *name == addr.ip().to_string() => write!(f, "grpcs:{addr}"),
            Self::Grpcs(addr, name) => write!(f, "grpcs:{name}@{addr}"),
        }
    }
}

impl FromStr for Route {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong =
            |form: &str| Error::new(ErrorKind::Invalid, format!("`{}` is not {form}", text.escape_debug()));
        if let Some(addr) = text.strip_prefix("grpc:") {
            return addr.parse().map(Self::Grpc).map_err(|_| wrong("grpc:IP:PORT"));
        }
        if let Some(server) = text.strip_prefix("grpcs:") {
            let wrong = || wrong("grpcs:IP:PORT or grpcs:NAME@IP:PORT");
            let (name, addr) = match server.split_once('@') {
                Some((name, addr)) => (Some(name), addr),
                None => (None, server),
            };
            let addr: SocketAddr = addr.parse().map_err(|_| wrong())?;
            let name = name.map_or_else(|| addr.ip().to_string(), str::to_owned);
            return if is_name(&name) { Ok(Self::Grpcs(addr, name)) } else { Err(wrong()) };
        }
        Ok(Self::Daemon(text.parse()?))
    }
}

/// Returns true for the name or the IP address of a machine.
fn is_name(text: &str) -> bool {
    let is_dns = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    text.parse::<IpAddr>().is_ok() || (!text.is_empty() && text.bytes().all(is_dns))
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
        let daemons = ["10.0.0.2:7000", "[::1]:7000", "dpdk:10.0.0.2:7000", "dpdk:[fe80::1]:7000"];
        let plain = ["grpc:10.0.0.2:7000", "grpc:[::1]:7000"];
        let encrypted = [
            "grpcs:10.0.0.2:7000",
            "grpcs:[::1]:7000",
            "grpcs:a.example@10.0.0.2:7000",
            "grpcs:::1@10.0.0.2:7000",
        ];
        for text in [&daemons[..], &plain, &encrypted].concat() {
            assert_eq!(text.parse::<Route>().unwrap().to_string(), text);
        }
        let shown = "grpcs:10.0.0.2@10.0.0.2:7000".parse::<Route>().unwrap().to_string();
        assert_eq!(shown, "grpcs:10.0.0.2:7000");
        for wrong in [
            "",
            "there",
            "dpdk:",
            "dpdk:there:7000",
            "dpdk:unix:/run/x",
            "grpc:",
            "grpc:there:80",
            "grpc:unix:/run/x",
            "grpcs:",
            "grpcs:@10.0.0.2:70",
            "grpcs:a/b@10.0.0.2:70",
        ] {
            assert!(wrong.parse::<Route>().is_err(), "{wrong}");
        }
    }
}
