//! The names and addresses by which services are found.

use bertha_core::Addr;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A service, by its name or one of its addresses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Key {
    /// Its name.
    Name(String),
    /// One of its addresses, as [`Addr`] writes it; where a service of streams and a service of datagrams have the address, that of streams.
    Address(String),
    /// An address by this transport.
    At(Transport, String),
}

/// The transport of an address. A TCP port and a UDP port with the same number belong to different services.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Transport {
    /// Streams: TCP, or a Unix socket of streams.
    Stream,
    /// Datagrams: UDP, or a Unix socket of datagrams.
    Datagram,
}

impl From<&Addr> for Key {
    fn from(address: &Addr) -> Self {
        Self::Address(address.to_string())
    }
}

impl From<&str> for Key {
    fn from(name: &str) -> Self {
        Self::Name(name.into())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(f, "`{}`", name.escape_debug()),
            Self::Address(address) => write!(f, "{}", address.escape_debug()),
            Self::At(Transport::Stream, address) => write!(f, "{} (streams)", address.escape_debug()),
            Self::At(Transport::Datagram, address) => write!(f, "{} (datagrams)", address.escape_debug()),
        }
    }
}
