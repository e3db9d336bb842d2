//! Three network namespaces in a row: the ends of a path, and the shaper between them.

use crate::Error;
use crate::figures::namespace::{Namespace, has_program, ip};
use std::net::Ipv4Addr;

pub(super) const SENDER: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 1);
pub(super) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 2);

/// The interfaces of the shaper, towards the sender and the receiver.
pub(in crate::figures::congestion) const TOWARDS: [&str; 2] = ["towards-a", "towards-b"];

/// Returns the reason why this machine can't have them, if there is one.
pub(in crate::figures::congestion) fn lacking() -> Option<&'static str> {
    let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    if !rustix::process::geteuid().is_root() {
        Some("it needs root")
    } else if !has_program("ip") || !has_program("ethtool") {
        Some("it needs ip and ethtool")
    } else if !controls.is_ok_and(|controls| controls.contains("bbr")) {
        Some("it needs a kernel with BBR: modprobe tcp_bbr")
    } else {
        None
    }
}

/// A namespace.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place {
    Sender,
    Receiver,
}

/// Three namespaces.
#[derive(Debug)]
pub(super) struct Namespaces {
    sender: Namespace,
    receiver: Namespace,
    between: Namespace,
}

impl Namespaces {
    pub(super) fn new() -> Result<Self, Error> {
        let namespaces = Self {
            sender: Namespace::new("a")?,
            receiver: Namespace::new("b")?,
            between: Namespace::new("between")?,
        };
        let Self { sender, receiver, between } = &namespaces;
        for (of, addr, peer) in [(sender, SENDER, TOWARDS[0]), (receiver, RECEIVER, TOWARDS[1])] {
            let addr = &format!("{addr}/24");
            let name = of.name();
            ip(&[
                "link",
                "add",
                "eth0",
                "netns",
                name,
                "type",
                "veth",
                "peer",
                "name",
                peer,
                "netns",
                between.name(),
            ])?;
            of.ip(&["addr", "add", addr, "dev", "eth0"])?;
            of.ip(&["link", "set", "eth0", "up"])?;
            between.ip(&["link", "set", peer, "up"])?;
            // The shaper handles packets as they would be on a wire: no larger, and with their checksums.
            let whole = ["tso", "off", "gso", "off", "gro", "off", "tx", "off"];
            ip(&[&["netns", "exec", name, "ethtool", "-K", "eth0"][..], &whole].concat())?;
        }
        Ok(namespaces)
    }

    /// Returns the namespace of the shaper.
    pub(super) fn between(&self) -> &Namespace {
        &self.between
    }

    /// Moves the calling thread into the namespace for good: its sockets belong to that namespace. So the
    /// thread must serve this purpose only.
    ///
    /// # Errors
    /// [`ErrorKind::Core`](crate::ErrorKind::Core) if the system refuses.
    pub(super) fn enter(&self, place: Place) -> Result<(), Error> {
        match place {
            Place::Sender => &self.sender,
            Place::Receiver => &self.receiver,
        }
        .enter()
    }
}
