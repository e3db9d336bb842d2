//! Accepting TCP connections at a port.

use super::{LANE, Tcp, TcpConnection, failure};
use crate::Counters;
use crate::demux::Owner;
use crate::device::Device;
use crate::visit::Visit;
use bertha_core::{Addr, Error, ErrorKind, Listener, Properties};
use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::Arc;

/// Accepts TCP connections at a port.
///
/// Dropping it ends accepting: connections that nobody accepted are reset, those that were live on. Another listener may then take
/// the port at once.
pub struct TcpListener {
    device: Arc<Device>,
    acceptor: usize,
    /// Where futures wait for connections.
    place: usize,
    local: SocketAddr,
    largest: usize,
}

impl TcpListener {
    pub(super) fn new(device: Arc<Device>, on: SocketAddr, options: &Tcp) -> Result<Self, Error> {
        let mut state = device.lock(LANE);
        let place = state.demux.open_place();
        let settings = options.settings.clone();
        let listening = state.tcp.streams.listen(on, settings, options.backlog, place, rand::random());
        let Some((acceptor, port)) = listening else {
            state.demux.close_place(place);
            let what = format!("cannot listen on {on}: the port is in use, or none is left");
            return Err(failure(ErrorKind::AddrInUse, what));
        };
        drop(state);
        let largest = options.settings.largest;
        Ok(Self { device, acceptor, place, local: (on.ip(), port).into(), largest })
    }

    /// What was dropped so far, over all connections of the port.
    pub fn dropped(&self) -> Counters {
        self.device.counters()
    }
}

impl Listener for TcpListener {
    type Connection = TcpConnection;

    async fn accept(&self) -> Result<TcpConnection, Error> {
        let mut visit = Visit::new(&self.device, LANE, Owner::Place(self.place));
        let take = |state: &mut crate::state::State| {
            let (key, peer) = state.tcp.streams.accept(self.acceptor)?;
            let port = self.local.port();
            Some(TcpConnection::new(&self.device, state, key, port, peer, self.largest))
        };
        Ok(poll_fn(|cx| visit.poll(cx, take)).await)
    }

    fn local_addr(&self) -> Addr {
        self.local.into()
    }

    fn properties(&self) -> Option<Properties> {
        Some(Properties::STREAM)
    }
}

impl Drop for TcpListener {
    fn drop(&mut self) {
        let (mut state, pool) = (self.device.lock(LANE), self.device.pool());
        let now = state.now;
        for key in state.tcp.streams.stop_listening(self.acceptor, now) {
            state.step(&pool, key);
        }
        state.flush(&pool);
        state.demux.close_place(self.place);
        self.device.release(state);
    }
}

impl fmt::Debug for TcpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpListener").field("local", &self.local).finish_non_exhaustive()
    }
}
