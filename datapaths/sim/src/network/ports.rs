//! The sockets of hosts, by which a datagram's connection is found, as in a kernel's socket table.

use super::connection::Inbox;
use super::listener::Backlog;
use bertha_core::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// A local address: connections by the address of their peer, and perhaps a listener for all other peers.
#[derive(Default)]
struct Port {
    backlog: Option<Backlog>,
    peers: BTreeMap<SocketAddr, Inbox>,
}

/// The datagram sockets of all hosts, and the ports that hosts assign.
#[derive(Default)]
pub(super) struct Ports {
    ports: BTreeMap<SocketAddr, Port>,
    next: BTreeMap<IpAddr, u16>,
}

/// The ports that are assigned to sockets that ask for none.
const EPHEMERAL: std::ops::RangeInclusive<u16> = 49_152..=65_535;

impl Ports {
    /// Returns a local address on `ip`, with `port`, or with a free port if `port` is zero.
    pub(super) fn choose(&mut self, ip: IpAddr, port: u16) -> Result<SocketAddr, Error> {
        if port != 0 {
            return Ok(SocketAddr::new(ip, port));
        }
        let next = self.next.entry(ip).or_insert(*EPHEMERAL.start());
        for _ in EPHEMERAL {
            let local = SocketAddr::new(ip, *next);
            *next = if *next == *EPHEMERAL.end() { *EPHEMERAL.start() } else { *next + 1 };
            if !self.ports.contains_key(&local) {
                return Ok(local);
            }
        }
        Err(Error::new(ErrorKind::Exhausted, format!("host {ip} has no free port left")).at("sim"))
    }

    pub(super) fn listen(&mut self, local: SocketAddr, backlog: &Backlog) -> Result<(), Error> {
        let port = self.ports.entry(local).or_default();
        if port.backlog.is_some() {
            return Err(in_use(format!("something listens on {local} already")));
        }
        port.backlog = Some(backlog.clone());
        Ok(())
    }

    pub(super) fn connect(
        &mut self,
        local: SocketAddr,
        peer: SocketAddr,
        inbox: &Inbox,
    ) -> Result<(), Error> {
        let port = self.ports.entry(local).or_default();
        if port.peers.contains_key(&peer) {
            return Err(in_use(format!("{local} is connected to {peer} already")));
        }
        port.peers.insert(peer, inbox.clone());
        Ok(())
    }

    /// Returns the inbox of the connection at `local` that receives from `peer`.
    pub(super) fn connected(&self, local: SocketAddr, peer: SocketAddr) -> Option<Inbox> {
        self.ports.get(&local)?.peers.get(&peer).cloned()
    }

    /// Returns the backlog at `local`, if a listener is there.
    pub(super) fn backlog(&self, local: SocketAddr) -> Option<Backlog> {
        self.ports.get(&local)?.backlog.clone()
    }

    /// Removes the connection that receives from `inbox`. Returns true if it was still registered.
    pub(super) fn forget(&mut self, local: SocketAddr, peer: SocketAddr, inbox: &Inbox) -> bool {
        let Some(port) = self.ports.get_mut(&local) else { return false };
        // Another connection may have taken its place.
        let is_known = port.peers.get(&peer).is_some_and(|other| Arc::ptr_eq(other, inbox));
        if is_known {
            port.peers.remove(&peer);
        }
        self.tidy(local);
        is_known
    }

    /// Removes the listener with this backlog; the connections that it accepted stay.
    pub(super) fn unlisten(&mut self, local: SocketAddr, backlog: &Backlog) {
        let Some(port) = self.ports.get_mut(&local) else { return };
        if port.backlog.as_ref().is_some_and(|other| Arc::ptr_eq(other, backlog)) {
            port.backlog = None;
        }
        self.tidy(local);
    }

    /// Removes everything on `ip`, and returns it.
    pub(super) fn restart(&mut self, ip: IpAddr) -> (Vec<Backlog>, Vec<Inbox>) {
        let mut backlogs = Vec::new();
        let mut inboxes = Vec::new();
        self.ports.retain(|local, port| {
            if local.ip() == ip {
                backlogs.extend(port.backlog.take());
                inboxes.extend(std::mem::take(&mut port.peers).into_values());
            }
            local.ip() != ip
        });
        (backlogs, inboxes)
    }

    fn tidy(&mut self, local: SocketAddr) {
        if self.ports.get(&local).is_some_and(|port| port.backlog.is_none() && port.peers.is_empty()) {
            self.ports.remove(&local);
        }
    }
}

fn in_use(what: String) -> Error {
    Error::new(ErrorKind::AddrInUse, what).at("sim")
}
