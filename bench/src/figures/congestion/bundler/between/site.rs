//! Four machines in a row: the senders, the sendbox, the path, and the receivers with the receivebox.

use super::super::super::shaped::{Impairments, Shaper, TOWARDS};
use crate::figures::namespace::{Namespace, ip};
use crate::{Error, ErrorKind};
use bertha_datapath_sim::Path;
use std::net::Ipv4Addr;

/// Addresses of the sending host, of the sendbox towards the path, and of the receiving host.
pub(super) const SENDER: Ipv4Addr = Ipv4Addr::new(10, 96, 1, 1);
pub(super) const SENDBOX: Ipv4Addr = Ipv4Addr::new(10, 96, 2, 1);
pub(super) const RECEIVER: Ipv4Addr = Ipv4Addr::new(10, 96, 3, 1);

/// The destinations of the bundle.
pub(super) const BUNDLE: &str = "10.96.3.0/24";

/// The interface of the receiving host.
pub(super) const ARRIVING: &str = "wan";

/// The machines, which are taken down when the value is dropped.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) sender: Namespace,
    pub(super) sendbox: Namespace,
    pub(super) receiver: Namespace,
    /// Ends before its machine.
    _shaper: Shaper,
    _path: Namespace,
}

impl Site {
    pub(super) fn new(path: &Path) -> Result<Self, Error> {
        let machine = Namespace::new;
        let (sender, sendbox, between, receiver) =
            (machine("sender")?, machine("sendbox")?, machine("path")?, machine("receiver")?);
        cable((&sender, "box"), (&sendbox, "lan"))?;
        cable((&sendbox, "wan"), (&between, TOWARDS[0]))?;
        cable((&receiver, ARRIVING), (&between, TOWARDS[1]))?;
        sender.ip(&["addr", "add", &format!("{SENDER}/24"), "dev", "box"])?;
        sender.ip(&["route", "add", "default", "via", "10.96.1.2"])?;
        sendbox.ip(&["addr", "add", "10.96.1.2/24", "dev", "lan"])?;
        sendbox.ip(&["addr", "add", &format!("{SENDBOX}/24"), "dev", "wan"])?;
        sendbox.ip(&["route", "add", BUNDLE, "via", "10.96.2.2"])?;
        receiver.ip(&["addr", "add", "10.96.2.2/24", "dev", ARRIVING])?;
        receiver.ip(&["addr", "add", &format!("{RECEIVER}/32"), "dev", "lo"])?;
        receiver.ip(&["route", "add", "default", "via", &SENDBOX.to_string()])?;
        forward(&sendbox)?;
        let shaper = Shaper::start(&between, &Impairments::of(path.clone()), 1)?;
        Ok(Self { sender, sendbox, receiver, _shaper: shaper, _path: between })
    }
}

/// Lays a cable, whose packets are as on a wire: no larger, and with their checksums.
fn cable((one, name): (&Namespace, &str), (other, peer): (&Namespace, &str)) -> Result<(), Error> {
    let ends = ["netns", one.name(), "type", "veth", "peer", "name", peer, "netns", other.name()];
    ip(&[&["link", "add", name][..], &ends].concat())?;
    for (of, interface) in [(one, name), (other, peer)] {
        of.ip(&["link", "set", interface, "up"])?;
        let whole = ["ethtool", "-K", interface, "tso", "off", "gso", "off", "gro", "off", "tx", "off"];
        ip(&[&["netns", "exec", of.name()][..], &whole].concat())?;
    }
    Ok(())
}

/// Makes a machine forward packets.
fn forward(machine: &Namespace) -> Result<(), Error> {
    let failed = || Error::new(ErrorKind::Core, "making a machine forward packets");
    let setting = || {
        machine.enter()?;
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").map_err(|error| failed().because(error))
    };
    std::thread::scope(|scope| scope.spawn(setting).join().unwrap_or_else(|_| Err(failed())))
}
