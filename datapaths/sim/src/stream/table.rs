//! Which streams and listeners there are.

use super::Stream;
use crate::network::Backlog;
use bertha_core::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};

/// The streams of all hosts.
#[derive(Default)]
pub(crate) struct StreamTable {
    listeners: BTreeMap<SocketAddr, Backlog>,
    streams: Vec<Weak<Stream>>,
}

/// The streams that a host loses when it is restarted.
pub(crate) struct Lost {
    pub(crate) backlogs: Vec<Backlog>,
    /// Streams, with the number of the end that was on the host.
    pub(crate) streams: Vec<(Arc<Stream>, usize)>,
}

impl StreamTable {
    pub(super) fn listen(&mut self, local: SocketAddr, backlog: &Backlog) -> Result<(), Error> {
        if self.listeners.contains_key(&local) {
            let what = format!("something accepts streams at {local} already");
            return Err(Error::new(ErrorKind::AddrInUse, what).at("sim"));
        }
        self.listeners.insert(local, backlog.clone());
        Ok(())
    }

    /// Forgets the listener with this backlog.
    pub(crate) fn unlisten(&mut self, local: SocketAddr, backlog: &Backlog) {
        if self.listeners.get(&local).is_some_and(|other| Arc::ptr_eq(other, backlog)) {
            self.listeners.remove(&local);
        }
    }

    pub(super) fn backlog(&self, local: SocketAddr) -> Option<Backlog> {
        self.listeners.get(&local).cloned()
    }

    pub(super) fn add(&mut self, stream: &Arc<Stream>) {
        self.streams.retain(|stream| stream.strong_count() > 0);
        self.streams.push(Arc::downgrade(stream));
    }

    /// Takes out what is on the host `ip`.
    pub(crate) fn of_host(&mut self, ip: IpAddr) -> Lost {
        let mut lost = Lost { backlogs: Vec::new(), streams: Vec::new() };
        self.listeners.retain(|local, backlog| {
            if local.ip() == ip {
                lost.backlogs.push(backlog.clone());
            }
            local.ip() != ip
        });
        for stream in self.streams.iter().filter_map(Weak::upgrade) {
            for end in [0, 1].into_iter().filter(|end| stream.addrs[*end].ip() == ip) {
                lost.streams.push((stream.clone(), end));
            }
        }
        lost
    }
}
