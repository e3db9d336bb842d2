//! The members of multicast groups.

use super::Network;
use super::connection::{Inbox, SimConnection};
use crate::queue::Queue;
use bertha_core::{Buf, Error, Group};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The members of all groups, by their own addresses.
#[derive(Default)]
pub(super) struct Groups {
    members: BTreeMap<SocketAddr, (SocketAddr, Inbox)>,
}

impl Groups {
    fn join(&mut self, local: SocketAddr, group: SocketAddr, inbox: &Inbox) {
        self.members.insert(local, (group, inbox.clone()));
    }

    /// Returns the queue that the member with this address receives from.
    pub(super) fn inbox(&self, local: SocketAddr) -> Option<Inbox> {
        self.members.get(&local).map(|(_, inbox)| inbox.clone())
    }

    /// Returns the addresses of all members of `group` except `but`.
    fn others(&self, group: SocketAddr, but: SocketAddr) -> Vec<SocketAddr> {
        let members = self.members.iter().filter(|(local, (of, _))| *of == group && **local != but);
        members.map(|(local, _)| *local).collect()
    }

    /// Removes the member that receives from `inbox`.
    pub(super) fn leave(&mut self, local: SocketAddr, inbox: &Inbox) {
        if self.inbox(local).is_some_and(|other| Arc::ptr_eq(&other, inbox)) {
            self.members.remove(&local);
        }
    }

    /// Removes all members on `ip`, and returns the queues that they receive from.
    pub(super) fn restart(&mut self, ip: IpAddr) -> Vec<Inbox> {
        let mut inboxes = Vec::new();
        self.members.retain(|local, (_, inbox)| {
            if local.ip() == ip {
                inboxes.push(inbox.clone());
            }
            local.ip() != ip
        });
        inboxes
    }
}

/// A multicast group, as a host of a [`Network`] reaches it.
/// [`SimDatapath::group`](crate::SimDatapath::group) creates it.
///
/// Each other member gets a copy of a message. Each copy meets the link and the faults between the sender's
/// host and the member's.
#[derive(Debug, Clone)]
pub struct SimGroup {
    network: Network,
    ip: IpAddr,
    group: SocketAddr,
}

impl SimGroup {
    pub(super) fn new(network: Network, ip: IpAddr, group: SocketAddr) -> Self {
        Self { network, ip, group }
    }
}

impl Group for SimGroup {
    type Connection = SimConnection;

    async fn join(&self) -> Result<SimConnection, Error> {
        let mut state = self.network.state();
        let local = state.choose_port(self.ip, 0)?;
        let inbox: Inbox = Arc::new(Queue::new(state.limits.queue));
        // The entry keeps the port.
        state.ports.connect(local, self.group, &inbox)?;
        state.groups.join(local, self.group, &inbox);
        drop(state);
        Ok(SimConnection::datagram(self.network.clone(), local, self.group, inbox))
    }
}

impl Network {
    /// Sends a copy to each other member of a group.
    pub(super) fn transmit_to_all(
        &self,
        from: SocketAddr,
        group: SocketAddr,
        payload: &[u8],
    ) -> Result<(), Error> {
        let others = self.state().groups.others(group, from);
        others
            .into_iter()
            .try_for_each(|member| self.transmit(from, member, Buf::copy_of(payload, 0)?, false))
    }
}
