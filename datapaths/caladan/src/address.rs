//! Addresses that Caladan reaches.

use crate::failure::{NAME, failure};
use bertha_core::{Addr, Error, ErrorKind};
use std::net::{SocketAddr, SocketAddrV4};

/// Returns the address to listen at.
pub(crate) fn own(on: &Addr) -> Result<SocketAddrV4, Error> {
    match on.ip(NAME)? {
        SocketAddr::V4(address) => Ok(address),
        SocketAddr::V6(address) => Err(failure(
            ErrorKind::Invalid,
            format!("{address} is an IPv6 address, and Caladan has IPv4 alone"),
        )),
    }
}

/// Returns the address of a peer.
pub(crate) fn peer(to: &Addr) -> Result<SocketAddrV4, Error> {
    let address = own(to)?;
    if address.ip().is_unspecified() || address.ip().is_multicast() || address.port() == 0 {
        return Err(failure(ErrorKind::Invalid, format!("{address} is the address of no peer")));
    }
    Ok(address)
}
