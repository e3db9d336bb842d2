//! Addresses that a port reaches.

use crate::device::Device;
use crate::failure::failure;
use bertha_core::{Error, ErrorKind};
use bertha_netstack::Flow;
use std::net::{IpAddr, SocketAddr};

/// Returns the flow to `peer` from no port, or an error if the interface can have no connection to `peer`.
pub(crate) fn reachable(device: &Device, peer: SocketAddr) -> Result<Flow, Error> {
    let ip: IpAddr = peer.ip();
    if ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || peer.port() == 0 {
        let what =
            format!("{peer} is no address that a port reaches; the interface has {}", addresses(device));
        return Err(failure(ErrorKind::Invalid, what));
    }
    device.interface.flow_to(peer, 0).ok_or_else(|| {
        let what =
            format!("the interface has no address of the family of {peer}, only {}", addresses(device));
        failure(ErrorKind::Invalid, what)
    })
}

/// Returns the addresses of the interface, for people.
pub(crate) fn addresses(device: &Device) -> String {
    device.interface.subnets().map(|subnet| subnet.to_string()).collect::<Vec<_>>().join(", ")
}
