//! The existing streams and their listeners, and the set-up of another stream.

use super::listener::Backlog;
use super::stream::{ATTEMPTS, Stream, StreamEnd, backoff};
use super::{Network, SimConnection};
use crate::queue::Queue;
use bertha_core::{Error, ErrorKind};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Weak};

/// The streams of all hosts.
#[derive(Default)]
pub(super) struct StreamTable {
    listeners: BTreeMap<SocketAddr, Backlog>,
    streams: Vec<Weak<Stream>>,
}

/// The streams that a host loses when it is restarted.
pub(super) struct Lost {
    pub(super) backlogs: Vec<Backlog>,
    /// Streams, with the number of the end that was on the host.
    pub(super) streams: Vec<(Arc<Stream>, usize)>,
}

impl StreamTable {
    fn listen(&mut self, local: SocketAddr, backlog: &Backlog) -> Result<(), Error> {
        if self.listeners.contains_key(&local) {
            let what = format!("something accepts streams at {local} already");
            return Err(Error::new(ErrorKind::AddrInUse, what).at("sim"));
        }
        self.listeners.insert(local, backlog.clone());
        Ok(())
    }

    /// Removes the listener with this backlog.
    pub(super) fn unlisten(&mut self, local: SocketAddr, backlog: &Backlog) {
        if self.listeners.get(&local).is_some_and(|other| Arc::ptr_eq(other, backlog)) {
            self.listeners.remove(&local);
        }
    }

    fn backlog(&self, local: SocketAddr) -> Option<Backlog> {
        self.listeners.get(&local).cloned()
    }

    fn add(&mut self, stream: &Arc<Stream>) {
        self.streams.retain(|stream| stream.strong_count() > 0);
        self.streams.push(Arc::downgrade(stream));
    }

    /// Removes and returns the listeners and streams on the host `ip`.
    pub(super) fn of_host(&mut self, ip: IpAddr) -> Lost {
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

/// Creates a backlog for streams to `local`.
pub(super) fn bind(network: &Network, local: SocketAddr) -> Result<Backlog, Error> {
    let mut state = network.state();
    let backlog: Backlog = Arc::new(Queue::new(state.limits.backlog));
    state.streams.listen(local, &backlog)?;
    Ok(backlog)
}

/// Asks `peer` for a stream, again and again while no answer comes.
pub(super) async fn connect(
    network: &Network,
    local: SocketAddr,
    peer: SocketAddr,
) -> Result<SimConnection, Error> {
    let runtime = network.runtime();
    for attempt in 0..ATTEMPTS {
        let (there, back) = {
            let state = network.state();
            (state.link(local.ip(), peer.ip()).delay, state.link(peer.ip(), local.ip()).delay)
        };
        runtime.sleep(there).await;
        let asked = network.state().passes(local.ip(), peer.ip());
        let answered = asked && network.state().passes(peer.ip(), local.ip());
        let backlog = network.state().streams.backlog(peer);
        match backlog {
            None if answered => {
                runtime.sleep(back).await;
                let what = format!("nothing accepts streams at {peer}");
                return Err(Error::new(ErrorKind::Unreachable, what).at("sim"));
            }
            Some(backlog) if answered && !backlog.is_full() => {
                let client = establish(network, local, peer, &backlog);
                runtime.sleep(back).await;
                return Ok(client);
            }
            Some(backlog) if answered && backlog.is_full() => network.state().counters.refused += 1,
            _ => {}
        }
        runtime.sleep(backoff(attempt)).await;
    }
    Err(Error::new(ErrorKind::TimedOut, format!("{peer} does not answer")).at("sim"))
}

fn establish(network: &Network, local: SocketAddr, peer: SocketAddr, backlog: &Backlog) -> SimConnection {
    let stream = Stream::new(network.clone(), [local, peer]);
    network.state().streams.add(&stream);
    let server = StreamEnd::new(stream.clone(), 1);
    // If the listener was dropped at this moment, the server's end is dropped with it, and the client learns
    // that the stream was closed.
    drop(backlog.try_push(SimConnection::stream(network.clone(), peer, local, server)));
    SimConnection::stream(network.clone(), local, peer, StreamEnd::new(stream, 0))
}
