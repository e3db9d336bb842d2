//! A host of the simulated network, as a datapath.

use super::{Network, SimConnection, SimGroup, SimListener, streams};
use crate::SimRuntime;
use bertha_core::{Addr, Datapath, Error, ErrorKind};
use std::net::{IpAddr, SocketAddr};

/// A datapath from a host of a [`Network`]. Clones are cheap.
#[derive(Debug, Clone)]
pub struct SimDatapath {
    network: Network,
    ip: IpAddr,
    port: u16,
    streams: bool,
}

impl SimDatapath {
    pub(super) fn new(network: Network, ip: IpAddr) -> Self {
        Self { network, ip, port: 0, streams: false }
    }

    /// Connects from this local port rather than from a free port, so that a client can come back with the
    /// address that it had before.
    #[must_use]
    pub fn from_port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// Connects and listens with reliable, ordered streams of messages, as framed TCP does, rather than with
    /// datagrams. Loss and cuts then delay messages, up to about a minute; corruption, duplication and
    /// reordering have no effect. Streams and datagrams have separate ports.
    #[must_use]
    pub fn streams(self) -> Self {
        Self { streams: true, ..self }
    }

    /// Returns the multicast group at `group`, as this host reaches it.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if `group` is not a multicast address with a port, of this host's
    /// family.
    pub fn group(&self, group: SocketAddr) -> Result<SimGroup, Error> {
        if !group.ip().is_multicast() || group.port() == 0 || group.is_ipv4() != self.ip.is_ipv4() {
            return Err(invalid(format!("{group} is no multicast group that {} can reach", self.ip)));
        }
        Ok(SimGroup::new(self.network.clone(), self.ip, group))
    }

    /// Returns the host's address.
    pub fn ip(&self) -> IpAddr {
        self.ip
    }

    /// Returns the network that the host is in.
    pub fn network(&self) -> &Network {
        &self.network
    }

    fn peer(&self, to: &Addr) -> Result<SocketAddr, Error> {
        let peer = to.ip("sim")?;
        if peer.is_ipv4() != self.ip.is_ipv4() {
            return Err(invalid(format!("{peer} is of another family than this host's address {}", self.ip)));
        }
        if peer.port() == 0 || peer.ip().is_unspecified() {
            return Err(invalid(format!("{peer} can't be connected to, it lacks an address or a port")));
        }
        Ok(peer)
    }

    fn local(&self, on: &Addr) -> Result<SocketAddr, Error> {
        let on = on.ip("sim")?;
        let anywhere = on.ip().is_unspecified() && on.is_ipv4() == self.ip.is_ipv4();
        if on.ip() != self.ip && !anywhere {
            return Err(invalid(format!("{on} is not an address of this host, which has {}", self.ip)));
        }
        self.network.state().choose_port(self.ip, on.port())
    }
}

fn invalid(what: String) -> Error {
    Error::new(ErrorKind::Invalid, what).at("sim")
}

impl Datapath for SimDatapath {
    type Connection = SimConnection;
    type Listener = SimListener;

    async fn connect(&self, to: Addr) -> Result<SimConnection, Error> {
        let peer = self.peer(&to)?;
        let local = self.network.state().choose_port(self.ip, self.port)?;
        if self.streams {
            streams::connect(&self.network, local, peer).await
        } else {
            self.network.open(local, peer)
        }
    }

    async fn listen(&self, on: Addr) -> Result<SimListener, Error> {
        let local = self.local(&on)?;
        let backlog =
            if self.streams { streams::bind(&self.network, local)? } else { self.network.bind(local)? };
        Ok(SimListener { network: self.network.clone(), local, backlog })
    }

    fn runtime(&self) -> Option<SimRuntime> {
        Some(self.network.runtime().clone())
    }
}
