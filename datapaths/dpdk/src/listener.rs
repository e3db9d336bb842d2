//! Accepting connections at a port.

use crate::demux::Owner;
use crate::device::Device;
use crate::state::State;
use crate::visit::Visit;
use crate::{Counters, DpdkConnection};
use bertha_core::{Addr, Error, Listener};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::Poll;

/// Accepts the connections of whoever sends to a UDP port.
///
/// At most 1,024 wait to be accepted in each of the port's queues; what strangers send beyond that is dropped and counted. Dropping it ends accepting; its
/// connections live on, and the port is in use as long as they do.
pub struct DpdkListener {
    device: Arc<Device>,
    /// Its number in each lane.
    acceptors: Vec<usize>,
    local: SocketAddr,
}

impl DpdkListener {
    pub(crate) fn new(device: Arc<Device>, acceptors: Vec<usize>, local: SocketAddr) -> Self {
        Self { device, acceptors, local }
    }

    /// What was dropped so far, over all connections of the port.
    pub fn dropped(&self) -> Counters {
        self.device.counters()
    }
}

impl Listener for DpdkListener {
    type Connection = DpdkConnection;

    async fn accept(&self) -> Result<DpdkConnection, Error> {
        // The lane of this thread first, so that several threads that accept each get the connections of their own. The others
        // are looked at, but not polled: that is up to their threads, or to whoever finds nothing else to do.
        let (device, lanes) = (&self.device, self.device.lanes());
        let visit = |lane| (lane, Visit::new(device, lane, Owner::Acceptor(self.acceptors[lane])));
        let (own, mut own_visit) = visit(device.own_lane());
        let mut others: Vec<_> = (0..lanes).filter(|lane| *lane != own).map(visit).collect();
        let (lane, slot, peer) = poll_fn(|cx| {
            let accept = |lane: usize| {
                move |state: &mut State| {
                    state.demux.accept(self.acceptors[lane]).map(|(slot, peer)| (lane, slot, peer))
                }
            };
            let found = own_visit.poll(cx, accept(own));
            if found.is_ready() {
                return found;
            }
            let mut looks = others.iter_mut().map(|(lane, visit)| visit.look(cx, accept(*lane)));
            looks.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await;
        Ok(DpdkConnection::new(device.clone(), lane, slot, self.local.port(), peer))
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }
}

impl Drop for DpdkListener {
    fn drop(&mut self) {
        for (lane, &acceptor) in self.acceptors.iter().enumerate() {
            self.device.lock(lane).demux.stop_listening(acceptor);
        }
    }
}

impl fmt::Debug for DpdkListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DpdkListener").field("local", &self.local).finish_non_exhaustive()
    }
}
