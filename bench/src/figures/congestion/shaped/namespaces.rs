//! Three network namespaces in a row: the ends of a path, and the shaper between them.

use crate::{Error, ErrorKind};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(super) const SENDER: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 1);
pub(super) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 97, 0, 2);

/// The interfaces of the shaper, towards the sender and the receiver.
pub(super) const TOWARDS: [&str; 2] = ["towards-a", "towards-b"];

/// Returns the reason why this machine can't have them, if there is one.
pub(in crate::figures::congestion) fn lacking() -> Option<&'static str> {
    let has = |program: &str| {
        ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
            .iter()
            .any(|folder| Path::new(folder).join(program).exists())
    };
    let controls = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    if !rustix::process::geteuid().is_root() {
        Some("it needs root")
    } else if !has("ip") || !has("ethtool") {
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
    Between,
}

/// Three namespaces, which are taken down when the value is dropped.
#[derive(Debug)]
pub(super) struct Namespaces {
    name: String,
}

impl Namespaces {
    pub(super) fn new() -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        // The namespaces are taken down also when a step fails.
        let namespaces = Self { name: format!("bertha-bench-{}-{number}", std::process::id()) };
        let between = namespaces.of(Place::Between);
        ip(&["netns", "add", &between])?;
        for (place, addr, peer) in
            [(Place::Sender, SENDER, TOWARDS[0]), (Place::Receiver, RECEIVER, TOWARDS[1])]
        {
            let of = namespaces.of(place);
            let addr = &format!("{addr}/24");
            let of = of.as_str();
            ip(&["netns", "add", of])?;
            // Sockets try out the offloads of the system over the loopback interface.
            ip(&["-n", of, "link", "set", "lo", "up"])?;
            ip(&[
                "link", "add", "eth0", "netns", of, "type", "veth", "peer", "name", peer, "netns", &between,
            ])?;
            ip(&["-n", of, "addr", "add", addr, "dev", "eth0"])?;
            ip(&["-n", of, "link", "set", "eth0", "up"])?;
            ip(&["-n", &between, "link", "set", peer, "up"])?;
            // The shaper handles packets as they would be on a wire: no larger, and with their checksums.
            let whole = ["tso", "off", "gso", "off", "gro", "off", "tx", "off"];
            ip(&[&["netns", "exec", of, "ethtool", "-K", "eth0"][..], &whole].concat())?;
        }
        Ok(namespaces)
    }

    fn of(&self, place: Place) -> String {
        let side = match place {
            Place::Sender => "a",
            Place::Receiver => "b",
            Place::Between => "between",
        };
        format!("{}-{side}", self.name)
    }

    /// Moves the calling thread into the namespace for good: its sockets belong to that namespace. So the
    /// thread must serve this purpose only.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the system refuses.
    pub(super) fn enter(&self, place: Place) -> Result<(), Error> {
        let path = Path::new("/run/netns").join(self.of(place));
        let failed = || format!("entering {}", path.display());
        let file = File::open(&path).map_err(|error| Error::new(ErrorKind::Core, failed()).because(error))?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| Error::new(ErrorKind::Core, failed()).because(error))
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for place in [Place::Sender, Place::Receiver, Place::Between] {
            // A namespace that was not made can't be taken down.
            ip(&["netns", "del", &self.of(place)]).unwrap_or_default();
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), Error> {
    let failed = || Error::new(ErrorKind::Core, format!("ip {}", arguments.join(" ")));
    let output = Command::new("ip").args(arguments).output().map_err(|error| failed().because(error))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(failed().because(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}
