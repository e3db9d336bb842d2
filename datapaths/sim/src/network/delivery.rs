//! The way of a datagram from a connection to its peer.

use super::bundled::Held;
use super::connection::{Inbox, SimConnection};
use super::link::corrupt;
use super::listener::Backlog;
use super::passage::Passage;
use super::{Datagram, Network, NetworkState, Verdict};
use crate::queue::{Ending, NotTaken, Queue};
use bertha_core::{Buf, Error, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

const CLOSED_PORT: Ending =
    Ending { kind: ErrorKind::Unreachable, context: "the peer's host answers that its port is closed" };

impl Network {
    /// Sends a datagram, which then meets the tap and the faults of the link.
    pub(super) fn transmit(
        &self,
        from: SocketAddr,
        to: SocketAddr,
        payload: Buf,
        is_markable: bool,
    ) -> Result<(), Error> {
        if to.ip().is_multicast() {
            return self.transmit_to_all(from, to, &payload);
        }
        self.state().counters.sent += 1;
        let Some((from, to, payload)) = self.pass_tap(from, to, payload)? else { return Ok(()) };
        let bundle = self.state().bundled.get(&(from.ip(), to.ip())).copied();
        let datagram = Held { from, to, payload, is_markable };
        match bundle {
            Some(number) => self.hold(number, datagram),
            None => _ = self.cross(datagram)?,
        }
        Ok(())
    }

    /// Sends a datagram over its link. Returns the time after which it arrives, if it does.
    pub(super) fn cross(&self, datagram: Held) -> Result<Option<Duration>, Error> {
        let Held { from, to, mut payload, is_markable } = datagram;
        let now = self.runtime().elapsed();
        let mut state = self.state();
        let Some(passage) = state.draw(from.ip(), to.ip(), payload.len(), is_markable, now) else {
            tracing::debug!(%from, %to, len = payload.len(), "datagram lost");
            drop(state);
            self.runtime().world.record(b'l', u64::from(to.port()), &payload);
            return Ok(None);
        };
        let link = state.link(from.ip(), to.ip());
        let NetworkState { rng, counters, .. } = &mut *state;
        let mut copy = None;
        if rng.chance(link.duplication) {
            counters.duplicated += 1;
            copy = Some((link.draw_delay(rng).0, Buf::copy_of(&payload, 0)?));
        }
        if rng.chance(link.corruption) {
            counters.corrupted += 1;
            let len = corrupt(&mut payload, rng);
            payload.truncate(len);
        }
        drop(state);
        self.arrive_after(passage, from, to, payload);
        if let Some((delay, copy)) = copy {
            self.arrive_after(Passage { delay, ..passage }, from, to, copy);
        }
        Ok(Some(passage.delay))
    }

    /// Puts a datagram on the wire, with any sender's address. The datagram meets the delay of its link, but
    /// neither the tap nor faults.
    pub fn inject(&self, datagram: &Datagram) -> Result<(), Error> {
        let payload = datagram.to_buf()?;
        let mut state = self.state();
        state.counters.injected += 1;
        let delay = state.link(datagram.from.ip(), datagram.to.ip()).delay;
        drop(state);
        self.arrive_after(Passage { delay, is_marked: false }, datagram.from, datagram.to, payload);
        Ok(())
    }

    fn pass_tap(
        &self,
        from: SocketAddr,
        to: SocketAddr,
        payload: Buf,
    ) -> Result<Option<(SocketAddr, SocketAddr, Buf)>, Error> {
        let Some(tap) = self.state().tap.clone() else { return Ok(Some((from, to, payload))) };
        let mut datagram = Datagram { from, to, payload: payload.to_vec() };
        // The network is not locked here, so that the tap can use it.
        let verdict = (tap.lock())(&mut datagram);
        match verdict {
            Verdict::Drop => {
                self.state().counters.tapped += 1;
                Ok(None)
            }
            Verdict::Pass => Ok(Some((datagram.from, datagram.to, datagram.to_buf()?))),
        }
    }

    fn arrive_after(&self, passage: Passage, from: SocketAddr, to: SocketAddr, payload: Buf) {
        let network = self.clone();
        self.runtime().world.after(passage.delay, move || {
            if passage.is_marked {
                network.state().marks.on_marked(to, from, payload.len());
            }
            network.arrive(from, to, payload);
        });
    }

    fn arrive(&self, from: SocketAddr, to: SocketAddr, payload: Buf) {
        self.runtime().world.record(b'a', u64::from(to.port()), &payload);
        let state = self.state();
        let connected = state.ports.connected(to, from).or_else(|| state.groups.inbox(to));
        let backlog = state.ports.backlog(to);
        drop(state);
        match (connected, backlog) {
            (Some(inbox), _) => {
                let taken = inbox.try_push(payload);
                let counters = &mut self.state().counters;
                match taken {
                    Ok(()) => counters.delivered += 1,
                    Err(NotTaken::Full) => counters.overflowed += 1,
                    // The datagram comes late for a connection that this end closed.
                    Err(NotTaken::Ended) => counters.closed += 1,
                }
            }
            (None, Some(backlog)) => self.accept(from, to, payload, &backlog),
            (None, None) => self.refuse(from, to),
        }
    }

    /// Opens a connection for the first datagram from an unknown address.
    fn accept(&self, from: SocketAddr, to: SocketAddr, payload: Buf, backlog: &Backlog) {
        if backlog.is_full() {
            tracing::debug!(%from, %to, "accept backlog full");
            self.state().counters.refused += 1;
            return;
        }
        let Ok(connection) = self.open(to, from) else { return };
        let delivered = connection.deliver(payload).is_ok();
        self.state().counters.delivered += u64::from(delivered);
        // The call fails only if the listener was dropped at this moment; the connection is then dropped as
        // well.
        let _gone: Result<(), NotTaken> = backlog.try_push(connection);
    }

    /// Tells the sender that nothing is bound to the port.
    fn refuse(&self, from: SocketAddr, to: SocketAddr) {
        let now = self.runtime().elapsed();
        let mut state = self.state();
        state.counters.closed_port += 1;
        tracing::debug!(%from, %to, "port closed");
        if !state.answers_closed_ports {
            return;
        }
        let Some(passage) = state.draw(to.ip(), from.ip(), 0, false, now) else { return };
        drop(state);
        let network = self.clone();
        self.runtime().world.after(passage.delay, move || {
            let sender = network.state().ports.connected(from, to);
            if let Some(inbox) = sender {
                inbox.notify(CLOSED_PORT);
            }
        });
    }

    /// Opens a connection over datagrams between two addresses, of which the first belongs to this end.
    pub(super) fn open(&self, local: SocketAddr, peer: SocketAddr) -> Result<SimConnection, Error> {
        let mut state = self.state();
        let inbox: Inbox = Arc::new(Queue::new(state.limits.queue));
        state.ports.connect(local, peer, &inbox)?;
        drop(state);
        Ok(SimConnection::datagram(self.clone(), local, peer, inbox))
    }

    /// Removes the connection that receives from `inbox`.
    pub(super) fn forget(&self, local: SocketAddr, peer: SocketAddr, inbox: &Inbox) {
        let mut state = self.state();
        if state.ports.forget(local, peer, inbox) {
            state.marks.forget(local, peer);
        }
        state.groups.leave(local, inbox);
    }

    /// Creates a backlog for connections to `local`.
    pub(super) fn bind(&self, local: SocketAddr) -> Result<Backlog, Error> {
        let mut state = self.state();
        let backlog: Backlog = Arc::new(Queue::new(state.limits.backlog));
        state.ports.listen(local, &backlog)?;
        Ok(backlog)
    }

    /// Removes the backlog of [`bind`](Self::bind).
    pub(super) fn unbind(&self, local: SocketAddr, backlog: &Backlog) {
        self.state().ports.unlisten(local, backlog);
    }
}
